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

namespace qc {

struct CalibrateOptions {
  RangeMethod method = RangeMethod::minmax;
  double percentile = 99.99;         // of elements kept, for that method
  std::string activations = "int8";  // int8, uint8 or int16
  bool per_channel = false;          // weights with a scale for each channel
  bool reference = false;            // run the interpreter instead of the kernels
  bool equalise = false;             // even out the channels of weights that follow each other
  bool bias_correction = false;      // take out the mean error of rounded weights
  std::function<void(int64_t done, int64_t total)> progress;
};

struct Calibration {
  std::string rules;               // text of the rule file
  std::vector<NamedArray> arrays;  // what it names in `archive`; may be empty
  int64_t runs = 0;
  /// Nodes in bodies of branches and loops, where values are not watched: they stay float.
  std::vector<std::string> passed_over;
};

/// Calibrates a loaded model on samples of its inputs. `archive` is the name of the file that
/// will hold the arrays, beside the rules.
Result<Calibration> calibrate(const Graph& model, const Options& options, Samples samples,
                              const CalibrateOptions& calibration, const std::string& archive);

}  // namespace qc
