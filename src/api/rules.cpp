#include "quantc/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/convert.h"
#include "driver/calibrate.h"
#include "driver/node_views.h"
#include "quant/rule_file.h"
#include "quant/rules.h"
#include "support/budget.h"

namespace quantc {
namespace {

class ValueRule final : public Rule {
 public:
  explicit ValueRule(RuleSpec spec) : spec_(std::move(spec)) {}
  bool matches(const NodeView&) const override { return false; }
  RuleSpec scheme(const NodeView&) const override { return spec_; }
  std::string origin() const override { return spec_.origin; }
  const RuleSpec* values() const override { return &spec_; }

 private:
  RuleSpec spec_;
};

NodeView taken(const std::shared_ptr<const NodeViews>& all, size_t at) {
  NodeView out = all->nodes[at];
  out.all = all;
  out.at = at;
  return out;
}

std::vector<NodeView> taken(const std::shared_ptr<const NodeViews>& all,
                            const std::vector<size_t>& which) {
  std::vector<NodeView> out;
  for (size_t at : which) out.push_back(taken(all, at));
  return out;
}

}  // namespace

std::vector<NodeView> NodeView::producers() const {
  return all ? taken(all, all->producers[at]) : std::vector<NodeView>();
}
std::vector<NodeView> NodeView::users() const {
  return all ? taken(all, all->users[at]) : std::vector<NodeView>();
}

std::shared_ptr<const Rule> rule_of(RuleSpec spec) {
  return std::make_shared<const ValueRule>(std::move(spec));
}

Expected<std::vector<RuleSpec>> read_rules(const std::string& path, bool partial) {
  const auto missing = partial ? qc::Missing::allowed : qc::Missing::refused;
  return converted(qc::within(nullptr, [&] { return qc::read_rules(path, missing); }));
}

Expected<std::vector<RuleSpec>> parse_rules(const std::string& text, const std::string& path) {
  return converted(qc::within(nullptr, [&] { return qc::parse_rules(text, path); }));
}

Expected<std::string> save_rules(const std::vector<RuleSpec>& rules, const std::string& path,
                                 bool force) {
  return converted(qc::within(nullptr, [&]() -> qc::Result<std::string> {
    const std::filesystem::path file = path;
    std::vector<qc::NamedArray> arrays;
    const bool calibrated =
        std::ranges::any_of(rules, [](const RuleSpec& rule) { return rule.calibrated; });
    std::string text = calibrated ? fmt::format("{}, and changed since.\n\n", qc::kCalibrationMark)
                                  : "# Written by quantc.\n\n";
    for (RuleSpec spec : rules) {
      spec.origin.clear();
      text += "[[rule]]\n" + qc::rule_keys(spec, qc::archive_name(path), arrays) + "\n";
    }
    text += "# ";
    text += qc::checksum_mark(text) + "\n";
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    QC_ASSIGN(qc::FileSet files,
              qc::FileSet::create(folder, force ? qc::Overwrite::any : qc::Overwrite::own));
    QC_TRY(files.write(file.filename().string(), text));
    if (!arrays.empty()) {
      QC_ASSIGN(const std::string bytes, qc::npz_bytes(arrays));
      QC_TRY(files.write(qc::archive_name(path), bytes));
    }
    std::string out = path;
    QC_TRY(files.commit());
    return out;
  }));
}

}  // namespace quantc
