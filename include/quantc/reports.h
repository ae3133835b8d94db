// What calibrating, explaining, validating and compiling a model tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantc/array.h"
#include "quantc/diagnostic.h"
#include "quantc/rules.h"

namespace quantc {

/// How ranges become scales; the same names as the flags of `quantc calibrate`.
struct CalibrationOptions {
  std::string method = "minmax";     // minmax, percentile, entropy or mse
  double percentile = 99.99;         // of elements kept, for that method
  std::string activations = "int8";  // int8, uint8 or int16
  std::string results = "auto";      // auto, narrow, sums, wide or float32
  double headroom = 0;               // times the range that was seen; 0: 1, and 2 for 16 bits
  std::vector<std::string> ops;      // that get rules; empty: all
  bool per_channel = false;          // weights with a scale for each channel
  bool reference = false;            // run the interpreter instead of the kernels
  bool equalise = false;             // even out the channels of weights that follow each other
  bool bias_correction = true;       // take out the mean error of rounded weights
  /// Rules that say something about some nodes; the model's own follow them, but for those that an
  /// earlier calibration found. What they leave open is found, and both are part of the result.
  std::vector<std::shared_ptr<const Rule>> rules;
  std::function<void(int64_t done, int64_t total)> progress;
};

struct Calibration {
  std::vector<RuleSpec> rules;
  std::string text;           // of the rule file
  std::vector<Array> arrays;  // what the text names in rules.npz; may be empty
  int64_t runs = 0;
  std::string model, method;  // for the first line of the file
  /// Nodes in bodies of branches and loops, where values are not watched: they stay float.
  std::vector<std::string> passed_over;
  std::vector<std::string> warnings;

  /// Writes the rule file and, where it needs one, the archive beside it. Files that quantc did not
  /// write stay unless `force` is set.
  Expected<std::string> save(const std::string& path, bool force = false) const;
};

/// What codes mean: a code q stands for (q - zero_point) * scale.
class QuantParams {
 public:
  std::string dtype;             // of the codes: "i8"
  int64_t qmin = 0, qmax = 0;    // codes in use
  std::string granularity;       // tensor, axis or group: which elements share a scale
  std::optional<int64_t> axis;   // of axis and group
  std::optional<int64_t> group;  // indices of the axis that share a scale
  bool dynamic = false;          // scales are found at run time

  /// One number, or one for each index of the axis; of groups one for each group, row-major over
  /// the value's shape with groups in the place of the axis. None where they are found at run time.
  std::vector<double> scale() const;
  /// One number, or as many as there are scales; none where they are found at run time.
  std::vector<int64_t> zero_point() const;

 private:
  friend class MakesQuantParams;
  std::shared_ptr<const void> format_;
};

/// What became of one node.
struct NodeExplanation {
  std::vector<std::string> names;
  std::string op;
  std::string computes;             // integer, float, moves or converts
  std::string rule;                 // "rules.toml:12"; empty for none
  std::string why;                  // for floats and conversions
  std::vector<std::string> inputs;  // formats of operands that are not constants, as text
  std::string output;               // of the first result
  std::string weight;               // format of the weights; empty for none
  /// The same as numbers: nothing for plain values.
  std::vector<std::optional<QuantParams>> input_qparams;
  std::vector<std::optional<QuantParams>> output_qparams;  // one for each result
  std::optional<QuantParams> weight_qparams;
  int64_t weight_elements = 0;           // of them
  int64_t weight_saturated = 0;          // of them beyond the codes
  std::optional<double> weight_sqnr_db;  // where the floats are known; infinite when exact
};

class Explanation {
 public:
  std::vector<NodeExplanation> nodes;
  std::vector<std::string> remarks, warnings;
  std::string totals;  // "10 nodes: 7 integer, 0 float, 1 move elements, 2 convert"
  std::string json;    // as `quantc explain --json`

  /// As a table; where that is wider than `width`, as a few lines for each node. 0: any width.
  std::string table(size_t width = 0) const;

 private:
  friend class Model;
  std::shared_ptr<const void> reports_;
};

struct ValidateOptions {
  /// None: 1e-4 of the largest expected magnitude, unless there is another bar or the model has
  /// rules: how far quantized outputs may be is for the caller to say.
  std::optional<double> atol;
  double rtol = 0;
  std::optional<double> min_sqnr;        // dB
  std::optional<double> min_top1;        // percent of rows with their largest element in place
  std::optional<double> max_perplexity;  // of logits over the tokens
  std::string tokens;  // the input that holds the tokens that logits predict; empty: none
  std::vector<std::string> targets;  // none: that of the model's options
  std::string compiler;              // empty: $CC, else cc
  std::vector<std::string> flags;    // empty: -O2, and -march=native for portable code
  /// Layers too: beside the float model where there are rules, and beside expected arrays that have
  /// their names; and where generated code first parts from the interpreter.
  bool per_layer = false;
};

struct Comparison {
  std::string run, against;  // "interpreter", "portable", "expected"
  std::string output;
  double max_abs = 0, max_rel = 0, sqnr_db = 0;
  bool bits_equal = false, ok = true;
  bool judged = true;               // there is a bar for it
  std::vector<std::string> failed;  // each bar that it misses, with what was found
  std::optional<double> top1;       // percent; of outputs of rank 1 to 3
  std::optional<double> perplexity, wanted_perplexity;
};

/// How far results are from those of the float model, over all samples.
struct ErrorReport {
  double sqnr_db = 0;  // infinite when equal
  double cosine = 0;
  double max_abs = 0;
};

/// One result of one layer beside the float model or what was expected.
struct LayerComparison {
  std::string against;  // "float", "expected"
  std::vector<std::string> names;
  std::string op;
  size_t output = 0;                 // which result of the node
  std::optional<ErrorReport> error;  // nothing where the other has no such result
};

struct Validation {
  std::vector<Comparison> comparisons;
  std::vector<LayerComparison> layers;     // in order, where asked for
  std::vector<LayerComparison> first_bad;  // below 20 dB: one for each of `against`, if any
  bool ok = true;
  std::string table;  // as `quantc validate` prints it
};

/// One quantized layer beside what it is in float.
struct LayerReport {
  std::vector<std::string> names;
  std::string op, rule, format;
  std::optional<ErrorReport> alone;  // with only this layer quantized, where that is known
  ErrorReport cumulative;            // with all layers quantized
  double least = 0, greatest = 0;    // of the float results
  int64_t elements = 0, saturated = 0;
  std::vector<int64_t> histogram;  // of the float results, over what the codes can say
  std::string suggestion;          // for layers that lose much
};

/// What one node computed in a run. Codes with one scale are given as the floats they stand for;
/// everything that is not f32 is f64.
struct LayerValue {
  std::vector<std::string> names;
  std::string op;
  size_t output = 0;  // which result of the node
  Array value;
};

struct Analysis {
  std::vector<LayerReport> layers;  // the worst alone first
  int64_t runs = 0;
  std::string table, json;
  std::string page;  // HTML that needs nothing else, where it was asked for
};

/// Sizes of a compiled model, known before anything is deployed.
struct Report {
  std::string name;
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t weight_bytes = 0;
  int64_t macs = 0;
  std::vector<std::string> warnings;  // what was not done as asked, or costs more than it seems to
};

/// How the compiled forms that a model keeps were used.
struct CacheReport {
  uint64_t hits = 0, misses = 0, evictions = 0;
  size_t count = 0;
  uint64_t bytes = 0;
  double hit_rate = 0;
};

}  // namespace quantc
