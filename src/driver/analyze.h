// Which layer hurts: how far each quantized layer is from what it is in float, alone and with
// everything before it quantized too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/samples.h"
#include "passes/pipeline.h"
#include "quantc/options.h"

namespace qc {

/// A quantized result beside the float one, over all elements of all samples.
struct LayerError {
  double signal = 0, noise = 0, product = 0, quantized = 0;  // sums of squares and of products
  double max_abs = 0;

  void see(const Tensor& wanted, const Tensor& got);
  /// 10 log10 of signal over noise; infinite when equal.
  double sqnr_db() const;
  double cosine() const;
};

struct LayerAnalysis {
  static constexpr int kBins = 32;

  std::vector<std::string> names;
  std::string op, rule, format;
  /// With only this layer quantized, its inputs as far as it reads codes; nothing where what it
  /// reads has no float beside it.
  std::optional<LayerError> alone;
  LayerError cumulative;           // with all layers quantized
  double least = 0, greatest = 0;  // of the float results
  int64_t elements = 0;
  int64_t saturated = 0;           // float results beyond what the codes can say
  std::vector<int64_t> histogram;  // of the float results, over what the codes can say
  std::string suggestion;          // for layers that lose much

  double saturated_percent() const;
};

struct Analysis {
  std::vector<LayerAnalysis> layers;  // the worst alone first
  int64_t runs = 0;
};

/// Codes with one scale that is known now as the floats they stand for; nothing for other codes,
/// and what has no format as it is.
std::optional<Tensor> as_floats(const Tensor& tensor, const Type& type);

/// The options of the float model: the same without rules.
quantc::Options without_rules(quantc::Options options);
/// The options with which every layer of the model stays a node: passes that join layers, and keep
/// the bits, are left out.
quantc::Options layer_by_layer(quantc::Options options);

/// Runs both contract graphs of one model on the samples: `quantized` with its rules, of which
/// `context` is the one its passes ran with, and `plain` without. Formats that are found at run
/// time have no range to compare with.
Result<Analysis> analyze(const Graph& plain, const Graph& quantized, const PassContext& context,
                         Samples samples);

/// One digit after the point; "exact" for infinity.
std::string decibels(double value);
/// As a table.
std::string table(const Analysis& analysis, size_t width, bool cut);
/// As JSON: {"runs": 10, "layers": [...]}.
std::string json(const Analysis& analysis);

}  // namespace qc
