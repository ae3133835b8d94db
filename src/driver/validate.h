// Comparing ways of running a model over samples: expected arrays, the float model, the
// interpreter, the kernels in process, generated code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arrays/compare.h"
#include "arrays/npz.h"
#include "driver/build.h"
#include "driver/compile.h"
#include "driver/layer_errors.h"
#include "driver/samples.h"

namespace qc {

struct ValidateOptions {
  std::optional<double> atol;      // none: 1e-4 of the largest expected magnitude
  std::optional<double> rtol;      // none: 0
  std::optional<double> min_sqnr;  // dB; instead of the tolerances where they are not given too
  std::optional<double> min_top1;  // percent; as above
  std::optional<double> max_perplexity;  // as above; needs `tokens`
  /// The graph was quantized by rules: without a bar it is not compared with the default tolerance.
  bool quantized = false;
  std::string tokens;  // input whose elements are the next tokens; empty: no perplexity
  std::vector<std::string> targets;  // none: that of the options
  BuildOptions build;
  bool per_layer = false;
};

/// How often the largest element of a row (along the last axis) is the same.
struct Top1 {
  int64_t same = 0, rows = 0;
  double percent() const { return 100.0 * static_cast<double>(same) / static_cast<double>(rows); }
};

/// exp of the mean negative log-likelihood of each next token, by the logits of both sides.
struct Perplexity {
  double got = 0, want = 0;
  int64_t tokens = 0;  // that were predicted
};

/// One output of one way of running, against another, over all samples.
struct Comparison {
  std::string got, want;  // "interpreter", "in process", "portable", "expected", "float"
  std::string output;
  Difference difference;  // of all samples together
  int64_t samples = 0;
  int64_t worst_sample = -1;  // with the least SQNR, or the first of another type
  double worst_sqnr_db = 0;
  std::optional<Top1> top1;              // of outputs of rank 1 to 3
  std::optional<Perplexity> perplexity;  // of logits over the tokens
  bool judged = true;                    // there is a bar for it
  bool ok = true;
  std::vector<std::string> failed;  // each bar that it misses, with what was found
};

/// Where interpreter and generated code first differ when every layer's result is stored.
struct LayerDifference {
  std::string target, layer, op;
  Difference difference;
};

/// Samples of the same sizes.
struct SampleSet {
  int64_t first = 0, count = 0;
  std::string sizes;  // as in "batch=2, seq=77"
};

struct Validation {
  std::vector<Comparison> comparisons;
  std::vector<LayerDifference> parting;  // first difference per target; empty when there is none
  std::vector<LayerComparison> layers;   // beside the references, where asked for
  double bad_db = 20;                    // below this a layer is bad
  int64_t samples = 0;
  std::vector<SampleSet> sets;  // where there are several
  bool ok = true;
};

/// What the answers should be; nothing of it needs to be there.
struct References {
  std::vector<std::vector<Tensor>>
      expected;                   // of each set the outputs of all samples, along axis 0
  const Graph* floats = nullptr;  // the model as it was before it was quantized
  /// For comparing layers: the contract graph with every layer a node of its own (none: the graph
  /// itself), and arrays of each set, those among which that have the name of a layer are its
  /// results.
  const Graph* layers = nullptr;
  std::vector<std::vector<NamedArray>> arrays;
};

/// Runs a contract graph on samples in the interpreter, in process, and in C for each target. Each
/// is compared with the references within the bars, and every other with the interpreter bit for
/// bit. Layers, where asked for, are compared with the references too.
Result<Validation> validate(const Graph& graph, const Options& options, Samples samples,
                            const References& references, const ValidateOptions& validation);

/// "interpreter against expected, output 'y': SQNR is 28.1 dB, the bar is 30 dB" for every bar that
/// is missed.
std::vector<std::string> failures(const Validation& validation);

/// The first layer below bad_db for each of the references, where there is one.
std::vector<LayerComparison> first_bad(const Validation& validation);

/// The comparisons as a table of at most 100 columns.
std::string str(const Validation& validation);
/// As docs/schema/validate.json describes.
std::string json(const Validation& validation, const std::string& model);

}  // namespace qc
