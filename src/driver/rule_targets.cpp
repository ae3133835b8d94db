#include "driver/rule_targets.h"

#include <algorithm>

#include "driver/node_views.h"
#include "passes/quantized_ops.h"
#include "quant/quantizable.h"
#include "quant/rule_index.h"
#include "quant/rules.h"

namespace qc {
namespace {

/// A rule of one's own, asked for what it matches alone.
class OwnMatch final : public QuantRule {
 public:
  OwnMatch(const quantc::Rule& rule, NeighbourViews& views) : rule_(rule), views_(views) {}
  bool matches(const Node& node) const override { return rule_.matches(views_.of(node)); }
  Result<QScheme> scheme(const Node&) const override { return QScheme{}; }
  std::string origin() const override { return rule_.origin(); }

 private:
  const quantc::Rule& rule_;
  NeighbourViews& views_;
};

}  // namespace

std::string name_of(const Node& n) {
  return n.loc().names.empty() ? std::string() : n.loc().names[0];
}

bool gives_f32(const Node& n) { return n.output_count() > 0 && n.output()->dtype() == DType::f32; }

bool is_product(Node& n) { return n.macs() > 0 && capability<Quantizable>(&n); }

std::vector<size_t> activations(Node& n) {
  std::vector<size_t> out;
  const auto* quantizable = capability<Quantizable>(&n);
  for (size_t i = 0; i < n.input_count(); ++i) {
    const Value* v = n.input(i);
    if (!v || v->dtype() != DType::f32) continue;
    if (quantizable &&
        (quantizable->is_float_operand(i) || (quantizable->is_weight(i) && v->is_constant())))
      continue;
    if (!quantizable && v->is_constant() && !runs_on_codes(n)) continue;
    out.push_back(i);
  }
  return out;
}

bool is_complete(const RuleSpec& spec) {
  return spec.dtype == "float32" || (!spec.kind.empty() && spec.kind != "static");
}

Result<RuleTargets> RuleTargets::create(Graph& graph, const CalibrateOptions& options) {
  RuleTargets out(options);
  out.find_groups(graph);
  QC_TRY(out.find_said(graph));
  return out;
}

void RuleTargets::unite(size_t into, size_t from) {
  for (Node* n : groups_[from].nodes) group_of_[n] = into;
  auto& to = groups_[into];
  to.nodes.insert(to.nodes.end(), groups_[from].nodes.begin(), groups_[from].nodes.end());
  to.names.insert(to.names.end(), groups_[from].names.begin(), groups_[from].names.end());
  groups_[from] = {};
}

void RuleTargets::find_groups(Graph& graph) {
  std::map<std::pair<std::string_view, std::string>, Node*> first;  // of an op and a name
  for (Node* n = graph.first(); n; n = n->next()) {
    if (!gives_f32(*n)) continue;
    size_t own = groups_.size();
    groups_.push_back({{n}, {}});
    group_of_[n] = own;
    for (const std::string& name : n->loc().names) {
      const auto [it, fresh] = first.try_emplace({n->op(), name}, n);
      if (fresh) groups_[own].names.push_back(name);
      const size_t other = group_of_.at(it->second);
      if (other == own) continue;
      unite(std::min(own, other), std::max(own, other));
      own = std::min(own, other);
    }
  }
}

Result<Ok> RuleTargets::find_said(Graph& graph) {
  NeighbourViews views;
  std::vector<std::unique_ptr<QuantRule>> matches;  // as the compiler does
  for (const StatedRule& rule : options_->partial) {
    RuleSpec match = rule.spec;
    match.kind = "float";  // only what it matches counts here
    match.dtype.clear();
    if (rule.own) {
      matches.push_back(std::make_unique<OwnMatch>(*rule.own, views));
    } else {
      matches.push_back(std::make_unique<FloatRule>(std::move(match)));
    }
  }
  const RuleIndex index(matches);
  for (Node* n = matches.empty() ? nullptr : graph.first(); n; n = n->next()) {
    if (!gives_f32(*n)) continue;
    for (const size_t i : index.named(*n)) {
      if (!matches[i]->matches(*n)) continue;
      if (const auto taken = said_.find(n); taken != said_.end()) {
        Hidden& hidden = hidden_[i];
        if (!hidden.by) hidden.by = taken->second.rule;
        hidden.excepted = hidden.excepted && taken->second.spec.kind == "float";
        continue;
      }
      const StatedRule& rule = options_->partial[i];
      RuleSpec spec = rule.spec;
      if (rule.own) {
        spec = rule.own->scheme(views.of(*n));
        if (spec.origin.empty()) spec.origin = rule.own->origin();
        QC_ASSIGN(spec, partial_rule(std::move(spec), options_->activations));
      }
      said_.emplace(n, Said{i, std::move(spec)});
    }
  }
  return Ok{};
}

bool RuleTargets::is_meant(Node& n) const {
  const auto& ops = options_->ops;
  if (options_->result_types == ResultTypes::floats && !is_product(n)) return false;
  return ops.empty() || std::find(ops.begin(), ops.end(), n.op()) != ops.end();
}

bool RuleTargets::has_rule(Node& n) const {
  return gives_f32(n) && is_meant(n) && !name_of(n).empty() && !activations(n).empty() &&
         has_quantized_op(n);
}

bool RuleTargets::is_changeable(Node& n) const {
  if (!has_rule(n) || group(n).nodes.size() > 1) return false;
  const auto it = said_.find(&n);
  if (it == said_.end()) return true;
  const RuleSpec& said = it->second.spec;
  return !is_complete(said) && said.output_multiplier.empty() && said.input_multiplier.empty();
}

const RuleSpec* RuleTargets::stated(const Node& n) const {
  const auto it = said_.find(&n);
  if (it == said_.end()) return nullptr;
  used_[it->second.rule] = true;
  return &it->second.spec;
}

Result<Ok> RuleTargets::check_uses() const {
  const auto origin = [&](size_t i) {
    const StatedRule& rule = options_->partial[i];
    return rule.own ? rule.own->origin() : rule.spec.origin;
  };
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] || options_->partial[i].may_be_unused || options_->allow_unused_rules) continue;
    const Hidden& hidden = hidden_[i];
    if (hidden.by && hidden.excepted) continue;
    const Loc loc{origin(i), {}, {}};
    if (hidden.by) {
      return error(Code::rule, loc,
                   "the rule is never used: earlier rules take what it matches, the first of them "
                   "{}; the rule for fewer nodes comes first, --allow-unused-rules "
                   "(allow_unused_rules=True) lets it pass",
                   origin(*hidden.by));
    }
    return error(Code::rule, loc,
                 "the rule is for no node that calibration writes rules for: inspect --names lists "
                 "what rules can match, --allow-unused-rules lets it pass");
  }
  return Ok{};
}

}  // namespace qc
