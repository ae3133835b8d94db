// Calibration: runs the float model on samples, watches its values and writes a rule file. The
// compiler never sees the samples; what they decide is in the file, to be read and edited.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arrays/npz.h"
#include "driver/compile.h"
#include "driver/samples.h"
#include "quant/observer.h"
#include "quant/rules.h"
#include "support/output.h"

namespace qc {

/// What results become.
enum class ResultForm : uint8_t {
  narrow,  // codes like those of the activations
  sums,    // those of sums of two values, and what only they read, codes of 16 bits
  wide,    // codes of 16 bits; products read them as narrow ones
  floats   // f32: only products have rules, and compute on codes
};
std::optional<ResultForm> parse_result_form(std::string_view name);

struct CalibrateOptions {
  RangeMethod method = RangeMethod::minmax;
  double percentile = 99.99;         // of elements kept, for that method
  std::string activations = "int8";  // int8, uint8 or int16
  ResultForm results = ResultForm::narrow;
  double headroom = 0;           // times the range that was seen; 0: 1, and 2 for 16 bits
  std::vector<std::string> ops;  // that get rules; empty: all
  bool per_channel = false;      // weights with a scale for each channel
  bool reference = false;        // run the interpreter instead of the kernels
  bool equalise = false;         // even out the channels of weights that follow each other
  bool bias_correction = true;   // take out the mean error of rounded weights
  /// Rules that say something about some nodes; what they leave open is found here.
  std::vector<RuleSpec> partial;
  bool allow_unused_rules = false;  // partial rules that match nothing are no errors
  std::function<void(int64_t done, int64_t total)> progress;
};

/// The type of the activations' codes.
DType activation_type(const CalibrateOptions& options);

/// The rules of a file that leaves numbers open; ranges in it are for codes of `activations` where
/// it names none.
Result<std::vector<RuleSpec>> partial_rules(const std::string& path,
                                            const std::string& activations);

struct Calibration {
  std::string rules;               // text of the rule file
  std::vector<NamedArray> arrays;  // what it names in `archive`; may be empty
  int64_t runs = 0;
  /// Nodes in bodies of branches and loops, where values are not watched: they stay float.
  std::vector<std::string> passed_over;
  /// What may spoil the numbers: values that are NaN.
  std::vector<std::string> warnings;
};

/// Calibrates a loaded model on samples of its inputs. `archive` is the name of the file that
/// will hold the arrays, beside the rules.
Result<Calibration> calibrate(const Graph& model, const Options& options, Samples samples,
                              const CalibrateOptions& calibration, const std::string& archive);

/// Writes the rules to `path` and the arrays beside it. `model` and `method` are named in its first
/// line.
Result<Ok> write_rules(const Calibration& calibration, const std::string& path,
                       const std::string& model, const std::string& method, Overwrite overwrite);
/// The name of the archive beside a rule file.
std::string archive_name(const std::string& rules_path);

/// The method and the other names of `options`, checked; the words are those of the flags.
Result<Ok> set_names(CalibrateOptions& options, const std::string& method,
                     const std::string& results);

}  // namespace qc
