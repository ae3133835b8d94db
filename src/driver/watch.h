// Watching the values of a float contract graph while it runs on samples.
#pragma once

#include <limits>
#include <map>
#include <set>

#include "driver/calibrate.h"
#include "driver/samples.h"

namespace qc {

/// The mean of each channel of a value, its channels being the indices along `axis`. Elements that
/// an Observer leaves out (NaN, infinities, marks) are left out here too.
struct ChannelMeans {
  int64_t axis = 0;
  std::vector<double> sums;
  std::vector<int64_t> counts;  // elements of each channel

  void see(const Tensor& tensor);
  void merge(const ChannelMeans& other);
  double mean(size_t channel) const {
    return counts[channel] > 0 ? sums[channel] / static_cast<double>(counts[channel]) : 0;
  }
};

/// A value with the axis of its channels. Readers of one value may have different axes.
using ChannelAxis = std::pair<const Value*, int64_t>;

/// What calibration knows of the values of a graph after the samples.
class Watched {
 public:
  /// Ops that only move or order elements give no new numbers: the value they were made from.
  static const Value* origin(const Value* value);

  /// Statistics are kept for the f32 values of the graph itself, not of its regions; means for
  /// those in `means`. Scores further below the greatest of their row than what gives probability
  /// 0 in results of `levels` codes are taken as if they were just there.
  Watched(const Graph& graph, bool histogram, double levels, const std::set<ChannelAxis>& means);

  /// Runs all samples. Threads share the work, yet the statistics do not depend on how many. The
  /// runs of a model with state follow each other, the first begins with its initial state.
  Result<Ok> run(const Graph& graph, const Options& options, Samples& samples,
                 const CalibrateOptions& calibration);

  const Observer& observer(const Value* value) const { return observers_.at(origin(value)); }
  /// Null where nothing was seen of the value, or its means along this axis were not asked for.
  const ChannelMeans* means(const Value* value, int64_t axis) const;
  /// Below this all values of operand i mean the same to those who read them in the end: they only
  /// mask. Nothing where small values matter.
  std::optional<double> operand_floor(Node& node, size_t i) const;
  /// The same for all that read a value.
  std::optional<double> floor(const Value* value) const;
  /// Whether a norm reads rows of the value, itself or through sums and what moves elements, and
  /// some are so much smaller than the largest that 8 bits for all leave them fewer than 6.
  bool uneven(const Value* value) const { return uneven_.count(value) > 0; }

  /// Whether a norm reads the value, itself or through sums.
  bool normalised(const Value* value) const { return peaks_.count(value) > 0; }

 private:
  /// A value whose rows a softmax reads, and what was seen of it.
  struct Rows {
    int64_t axis = 0;
    Observer seen{false};
  };
  /// The lower bound below which no reader tells elements of a value apart; `open` if some reader
  /// has none.
  struct Floor {
    double at = 0;
    bool found = false, open = false;
  };

  /// The greatest magnitudes of rows of `width` elements: of the smallest row that is not 0, and
  /// of the largest.
  struct Peaks {
    int64_t width = 0;
    float least = std::numeric_limits<float>::infinity(), most = 0;
    void see(const Tensor& tensor);
  };

  void find_normalised(const Graph& graph);
  void find_uneven(const Graph& graph);
  bool wanted(const Value* value) const;
  void see(const Value* value, const Tensor& tensor);
  void merge(const Watched& other);
  /// `tensor` with the scores of each row raised to what gives probability 0; rows in which
  /// everything is masked are left out.
  std::vector<float> raised(const Tensor& tensor, int64_t axis) const;
  void find_floors(const Graph& graph);
  double greatest(const Value* value) const;
  Result<Ok> run_interpreted(const Graph& graph, Samples& samples,
                             const CalibrateOptions& calibration);
  Result<Ok> run_compiled(const Graph& graph, const Options& options, Samples& samples,
                          const CalibrateOptions& calibration);

  double levels_;
  std::map<const Value*, Observer> observers_;
  std::map<const Value*, Rows> rows_;
  std::map<const Value*, Peaks> peaks_;
  std::set<const Value*> uneven_;
  std::map<const Value*, Floor> floors_;
  std::map<const Value*, double> constants_;  // the greatest element of those that are summed
  std::map<const Value*, std::vector<ChannelMeans>> means_;  // one for each axis asked for
};

}  // namespace qc
