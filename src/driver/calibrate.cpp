#include "driver/calibrate.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "driver/equalise.h"
#include "driver/rule_writer.h"
#include "driver/rules.h"
#include "driver/watch.h"
#include "quant/rule_file.h"
#include "support/counted.h"
#include "support/escape.h"

namespace qc {

Result<RuleSpec> partial_rule(RuleSpec spec, const std::string& activations) {
  QC_TRY(check_op(spec));
  if (spec.dtype.empty() && !spec.min.empty()) spec.dtype = activations;
  if (const auto found = problem_of(spec, Missing::allowed)) {
    return error(Code::rule, Loc{spec.origin, {}, {}}, "{}: {}", found->key, found->text);
  }
  return with_scales(std::move(spec));
}

Result<std::vector<StatedRule>> partial_rules(const std::string& path,
                                              const std::string& activations) {
  QC_ASSIGN(std::vector<RuleSpec> rules, read_rules(path, Missing::allowed));
  std::vector<StatedRule> out;
  for (RuleSpec& rule : rules) {
    QC_ASSIGN(RuleSpec spec, partial_rule(std::move(rule), activations));
    out.push_back({.own = nullptr, .spec = std::move(spec)});
  }
  return out;
}

/// None where the passes need numbers.
static SizeTables tables_of(const Graph& model, const Options& options) {
  Options open = options;
  open.rules_file.clear();
  auto graph = copy(model);
  if (!graph.ok() || model.symbols().empty() || !make_contract(**graph, open).ok()) return {};
  return size_tables(**graph);
}

Result<Calibration> calibrate(const Graph& model, const Options& options, Samples samples,
                              const CalibrateOptions& calibration, const std::string& archive) {
  Options one = options;
  one.rules_file.clear();
  one.ranges.clear();  // those of the samples: one size is a number
  QC_TRY(add_dims_of(model, samples, one));
  QC_ASSIGN(auto graph, copy(model));
  graph->file = model.file;
  PassContext context;
  context.compute_in_f32 = true;
  QC_TRY(make_contract(*graph, one, context));
  QC_ASSIGN(const RuleTargets targets, RuleTargets::create(*graph, calibration));
  Changes changes;
  if (calibration.equalise) {
    QC_ASSIGN(changes, equalise(*graph, [&](Node& n) { return targets.is_changeable(n); }));
  }
  const DType codes = activation_type(calibration);
  Watched watched(*graph, calibration.range != RangeMethod::minmax, std::exp2(bits(codes)),
                  calibration.bias_correction ? weighted_inputs(*graph) : std::set<ChannelAxis>{});
  QC_TRY(watched.run(*graph, one, samples, calibration));
  RuleWriter writer(*graph, targets, watched, changes, calibration, tables_of(model, options));
  QC_TRY(writer.run(samples.count()));
  if (const std::string why = writer.why_none(); !why.empty() && !calibration.allow_unused_rules) {
    return error(Code::rule, Loc{model.file, {}, {}},
                 "there is no rule to write: {}; --allow-unused-rules (allow_unused_rules=True) "
                 "lets it pass",
                 why);
  }
  Calibration out;
  out.runs = samples.count();
  out.passed_over = writer.passed_over();
  out.warnings = samples.warnings();
  out.warnings.insert(out.warnings.end(), writer.warnings().begin(), writer.warnings().end());
  RuleSpec common;
  common.dtype = calibration.activations;
  common.per_channel = calibration.per_channel;
  common.skip_unsupported = true;  // what turns out to have no form on codes stays float, and said
  out.rules = "[default]\n" + rule_keys(common, archive, out.arrays) + "\n";
  out.rules += writer.text(archive, out.arrays);
  return out;
}

Result<Ok> understand(CalibrateOptions& options) {
  const auto range = parse_range_method(options.method);
  if (!range) {
    return error(Code::usage, "--method is '{}': use one of minmax, percentile, entropy, mse",
                 options.method);
  }
  if (const std::string& a = options.activations; a != "int8" && a != "uint8" && a != "int16") {
    return error(Code::usage, "--activations is '{}': use one of int8, uint8, int16", a);
  }
  if (!(options.percentile > 0 && options.percentile <= 100)) {
    return error(Code::usage, "--percentile is {}: it must be above 0 and at most 100",
                 options.percentile);
  }
  const auto result_types = parse_result_types(options.results);
  if (!result_types) {
    return error(Code::usage, "--results is '{}': use one of auto, narrow, sums, wide, float32",
                 options.results);
  }
  if (!(options.headroom == 0 || (options.headroom >= 1 && options.headroom <= 1000))) {
    return error(Code::usage, "--headroom is {}: it must be 1 to 1000", options.headroom);
  }
  options.range = *range;
  options.result_types = *result_types;
  return Ok{};
}

std::string archive_name(const std::string& rules_path) {
  return std::filesystem::path(rules_path).stem().string() + ".npz";
}

Result<FileSet> write_rules(const Calibration& calibration, const std::string& path,
                            const std::string& model, const std::string& method,
                            Overwrite overwrite) {
  const std::filesystem::path rules = path;
  std::string text = fmt::format("{}: {}, {}, {}.\n\n{}# ", kCalibrationMark,
                                 shown(std::filesystem::path(model).filename().string()),
                                 counted(calibration.runs, "run"), method, calibration.rules);
  text += checksum_mark(text) + "\n";
  const std::string folder = rules.has_parent_path() ? rules.parent_path().string() : ".";
  QC_ASSIGN(FileSet files, FileSet::create(folder, overwrite));
  QC_TRY(files.write(rules.filename().string(), text));
  if (!calibration.arrays.empty()) {
    QC_ASSIGN(const std::string arrays, npz_bytes(calibration.arrays));
    QC_TRY(files.write(archive_name(path), arrays));
  }
  return files;
}

}  // namespace qc
