// Watching the values of a float contract graph while it runs on samples.
#pragma once

#include <map>
#include <set>

#include "driver/calibrate.h"
#include "driver/samples.h"

namespace qc {

/// The mean of each channel of a value.
struct ChannelMeans {
  int64_t axis = 0;
  std::vector<double> sums;
  int64_t count = 0;  // elements of one channel

  void see(const Tensor& tensor);
  void merge(const ChannelMeans& other);
};

/// What calibration knows of the values of a graph after the samples.
class Watched {
 public:
  /// Ops that only move or order elements give no new numbers: the value they were made from.
  static const Value* origin(const Value* value);

  /// Statistics are kept for the f32 values of the graph itself, not of its regions; means for
  /// those in `means`.
  Watched(const Graph& graph, bool histogram, std::map<const Value*, int64_t> means);

  /// Runs all samples. Threads share the work, yet the statistics do not depend on how many.
  Result<Ok> run(const Graph& graph, const Options& options, Samples& samples,
                 const CalibrateOptions& calibration);

  const Observer& observer(const Value* value) const { return observers_.at(origin(value)); }
  const ChannelMeans* means(const Value* value) const;

 private:
  bool wanted(const Value* value) const;
  void see(const Value* value, const Tensor& tensor);
  void merge(const Watched& other);
  Result<Ok> run_compiled(const Graph& graph, const Options& options, Samples& samples,
                          const CalibrateOptions& calibration);

  std::map<const Value*, Observer> observers_;
  std::map<const Value*, ChannelMeans> means_;
};

}  // namespace qc
