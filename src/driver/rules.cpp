#include "driver/rules.h"

#include "driver/node_views.h"
#include "ir/op_table.h"
#include "ops/common/registration.h"
#include "quant/arithmetic.h"
#include "quant/rule_file.h"
#include "quant/rules.h"
#include "support/suggest.h"

namespace qc {

namespace {

/// A rule class of the program that uses the library.
class OwnRule final : public QuantRule {
 public:
  OwnRule(std::shared_ptr<const quantc::Rule> rule, std::string arithmetic,
          std::shared_ptr<NeighbourViews> views)
      : rule_(std::move(rule)), arithmetic_(std::move(arithmetic)), views_(std::move(views)) {}
  bool matches(const Node& node) const override { return rule_->matches(views_->of(node)); }
  Result<QScheme> scheme(const Node& node) const override {
    RuleSpec spec = rule_->scheme(views_->of(node));
    if (spec.origin.empty()) spec.origin = origin();
    if (spec.arithmetic.empty()) spec.arithmetic = arithmetic_;
    return scheme_for(spec, node);
  }
  std::string origin() const override { return rule_->origin(); }

 private:
  std::shared_ptr<const quantc::Rule> rule_;
  std::string arithmetic_;
  std::shared_ptr<NeighbourViews> views_;  // of all rules of a set
};

}  // namespace

Result<std::vector<StatedRule>> stated_rules(const quantc::Options& options) {
  std::vector<StatedRule> out;
  const auto add = [&](RuleSpec spec, size_t i) {
    if (spec.origin.empty()) spec.origin = fmt::format("rule {}", i + 1);
    out.push_back({nullptr, std::move(spec)});
  };
  for (size_t i = 0; i < options.own_rules.size(); ++i) {
    const auto& own = options.own_rules[i];
    if (own->values()) {
      add(*own->values(), i);
    } else {
      out.push_back({own, {}});
    }
  }
  for (size_t i = 0; i < options.rules.size(); ++i) add(options.rules[i], i);
  if (options.rules_file.empty()) return out;
  QC_ASSIGN(auto read, read_rules(options.rules_file));
  if (read.empty() && !options.allow_unused_rules) {
    return error(Code::rule, Loc{options.rules_file, {}, {}},
                 "the file has no rule, so it quantizes nothing: write a [[rule]], or a pattern or "
                 "op in [default]; --allow-unused-rules lets it pass");
  }
  for (RuleSpec& spec : read) out.push_back({nullptr, std::move(spec)});
  return out;
}

Result<Ok> check_op(const quantc::RuleSpec& spec) {
  register_all_ops();
  if (spec.op.empty() || op_table().find(spec.op)) return Ok{};
  std::vector<std::string> known;
  for (const auto& [name, entry] : op_table().all()) known.emplace_back(name);
  return error(Code::rule, Loc{spec.origin, {}, {}},
               "op: there is no op '{}': `quantc inspect --names` lists the nodes of a model with "
               "their ops{}",
               spec.op, did_you_mean(spec.op, known));
}

Result<RuleSet> rule_set(const quantc::Options& options) {
  RuleSet out;
  out.file = options.rules_file;
  out.allow_unused = options.allow_unused_rules;
  QC_ASSIGN(const ModelArithmetic arithmetic, parse_model_arithmetic(options.arithmetic));
  QC_ASSIGN(auto stated, stated_rules(options));
  const auto views = std::make_shared<NeighbourViews>();
  for (StatedRule& rule : stated) {
    if (rule.own) {
      out.rules.push_back(std::make_unique<OwnRule>(rule.own, arithmetic.quantized, views));
      continue;
    }
    if (rule.spec.arithmetic.empty()) rule.spec.arithmetic = arithmetic.quantized;
    QC_TRY(check_op(rule.spec));
    QC_ASSIGN(auto made, make_rule(rule.spec));
    out.rules.push_back(std::move(made));
  }
  return out;
}

}  // namespace qc
