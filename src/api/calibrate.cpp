#include "driver/calibrate.h"

#include "api/state.h"
#include "driver/analyze.h"
#include "quant/rule_file.h"
#include "support/escape.h"
#include "support/scratch.h"

namespace quantc {
namespace {

using qc::Result;

constexpr const char* kArchive = "rules.npz";  // what the text calls it until it is saved

/// The rules as reading the file gives them: what is saved and what is used are the same.
Result<std::vector<RuleSpec>> reread(const qc::Calibration& found) {
  QC_ASSIGN(const qc::ScratchFolder folder, qc::ScratchFolder::create());
  const std::string path = folder.path() + "/rules.toml";
  QC_ASSIGN(qc::FileSet files, qc::write_rules(found, path, "", "", qc::Overwrite::any));
  QC_TRY(files.commit());
  QC_ASSIGN(auto rules, qc::read_rules(path));
  for (size_t i = 0; i < rules.size(); ++i) rules[i].origin = fmt::format("calibration:{}", i + 1);
  return rules;
}

/// The rules that are given, then those of the model, which its compilation has checked.
Result<std::vector<qc::StatedRule>> partial_of(const Options& options,
                                               const CalibrationOptions& how) {
  Options given;
  given.own_rules = how.rules;
  QC_ASSIGN(std::vector<qc::StatedRule> out, qc::stated_rules(given));
  QC_ASSIGN(std::vector<qc::StatedRule> own, qc::stated_rules(options));
  for (qc::StatedRule& rule : own) {
    if (rule.spec.calibrated) continue;
    rule.may_be_unused = true;
    out.push_back(std::move(rule));
  }
  for (qc::StatedRule& rule : out) {
    if (rule.own) continue;
    QC_ASSIGN(rule.spec, qc::partial_rule(std::move(rule.spec), how.activations));
  }
  return out;
}

Result<Calibration> calibrated(const qc::Graph& graph, const Options& options,
                               const ArrayViews& views, const CalibrationOptions& how) {
  qc::CalibrateOptions inner{how, {}, {}, {}, {}};
  QC_TRY(qc::understand(inner));
  QC_ASSIGN(inner.partial, partial_of(options, how));
  inner.allow_unused_rules = options.allow_unused_rules;
  const Options plain = qc::without_rules(options);
  QC_ASSIGN(qc::Samples samples, samples_of(graph, options, views));
  QC_ASSIGN(const qc::Calibration found,
            qc::calibrate(graph, plain, std::move(samples), inner, kArchive));
  Calibration out;
  QC_ASSIGN(out.rules, reread(found));
  out.text = found.rules;
  for (const qc::NamedArray& a : found.arrays) out.arrays.push_back(array_of(a.name, a.tensor));
  out.runs = found.runs;
  out.method = how.method;
  out.model = graph.file;
  out.passed_over = found.passed_over;
  out.warnings = found.warnings;
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

Expected<Calibration> Model::calibrate(const ArrayViews& samples,
                                       const CalibrationOptions& options) const {
  return state_->alone(
      [&] { return calibrated(*state_->network->graph, state_->options, samples, options); });
}

Expected<std::string> Calibration::save(const std::string& path, bool force) const {
  return converted(qc::within(nullptr, [&]() -> Result<std::string> {
    qc::Calibration inner;
    inner.rules = text;
    inner.runs = runs;
    for (const Array& a : arrays) {
      QC_ASSIGN(qc::Tensor t, tensor_of(a));
      inner.arrays.push_back({a.name, std::move(t)});
      replace_all(inner.rules, qc::toml_string(std::string(kArchive) + ":" + a.name),
                  qc::toml_string(qc::archive_name(path) + ":" + a.name));
    }
    QC_ASSIGN(qc::FileSet files, qc::write_rules(inner, path, model, method,
                                                 force ? qc::Overwrite::any : qc::Overwrite::own));
    std::string out = path;
    QC_TRY(files.commit());
    return out;
  }));
}

}  // namespace quantc
