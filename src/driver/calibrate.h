// Calibration: runs the float model on samples, watches its values and writes a rule file. The
// compiler never sees the samples; what they decide is in the file, to be read and edited.
#pragma once

#include <string>
#include <vector>

#include "arrays/npz.h"
#include "driver/compile.h"
#include "driver/rules.h"
#include "driver/samples.h"
#include "quant/observer.h"
#include "quant/rules.h"
#include "quantc/reports.h"
#include "support/output.h"

namespace qc {

/// What results become.
enum class ResultTypes : uint8_t {
  fitting,  // narrow; what a norm reads in rows of very different size has 16 bits
  narrow,   // codes like those of the activations
  sums,     // fitting; sums of two values, and what they and norms alone read, have 16 bits too
  wide,     // codes of 16 bits; products read them as narrow ones
  floats    // f32: only products have rules, and compute on codes
};
std::optional<ResultTypes> parse_result_types(std::string_view name);

/// The options that users give, and what their words stand for.
struct CalibrateOptions : quantc::CalibrationOptions {
  RangeMethod range = RangeMethod::minmax;          // of `method`
  ResultTypes result_types = ResultTypes::fitting;  // of `results`
  /// Rules that say something about some nodes; what they leave open is found here.
  std::vector<StatedRule> partial;
  bool allow_unused_rules = false;  // partial rules that match nothing are no errors, nor no rules
};
/// Checks what was given and says what the words stand for; errors name the flags.
Result<Ok> understand(CalibrateOptions& options);

/// The type of the activations' codes.
DType activation_type(const CalibrateOptions& options);

/// Keys that may leave scales open, checked, with scales for ranges; these are for codes of
/// `activations` where the rule names none.
Result<RuleSpec> partial_rule(RuleSpec spec, const std::string& activations);
/// The rules of a file of such rules.
Result<std::vector<StatedRule>> partial_rules(const std::string& path,
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

/// Writes the rules for `path` and the arrays beside it, where `commit` puts them. `model` and
/// `method` are named in its first line.
Result<FileSet> write_rules(const Calibration& calibration, const std::string& path,
                            const std::string& model, const std::string& method,
                            Overwrite overwrite);
/// The name of the archive beside a rule file.
std::string archive_name(const std::string& rules_path);

}  // namespace qc
