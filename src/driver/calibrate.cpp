#include "driver/calibrate.h"

#include <fmt/format.h>

#include <cmath>

#include "driver/equalise.h"
#include "driver/rule_writer.h"
#include "driver/watch.h"
#include "interp/interpreter.h"
#include "quant/rule_file.h"

namespace qc {

Result<Calibration> calibrate(const Graph& model, const Options& options, Samples samples,
                              const CalibrateOptions& calibration, const std::string& archive) {
  QC_ASSIGN(const Bindings bindings, bindings_for(model, samples.first()));
  Options one = options;
  one.rules_file.clear();
  one.ranges.clear();
  one.dims.insert(bindings.begin(), bindings.end());
  QC_ASSIGN(auto graph, copy(model));
  graph->file = model.file;
  QC_TRY(make_contract(*graph, one));
  Changes changes;
  if (calibration.equalise) {
    QC_ASSIGN(changes, equalise(*graph));
  }
  const DType codes = activation_type(calibration);
  Watched watched(
      *graph, calibration.method != RangeMethod::minmax, std::exp2(bits(codes)),
      calibration.bias_correction ? weighted_inputs(*graph) : std::map<const Value*, int64_t>{});
  QC_TRY(watched.run(*graph, one, samples, calibration));
  RuleWriter writer(*graph, watched, changes, calibration);
  QC_TRY(writer.run());
  Calibration out;
  out.runs = samples.count();
  out.passed_over = writer.passed_over();
  out.warnings = samples.warnings();
  out.warnings.insert(out.warnings.end(), writer.warnings().begin(), writer.warnings().end());
  RuleSpec common;
  common.dtype = calibration.activations;
  common.per_channel = calibration.per_channel;
  out.rules = "[default]\n" + rule_keys(common, archive, out.arrays) + "\n";
  out.rules += writer.text(archive, out.arrays);
  return out;
}

}  // namespace qc
