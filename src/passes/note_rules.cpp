#include "passes/note_rules.h"

#include "quant/rule.h"
#include "support/counted.h"

namespace qc {

Result<bool> note_rules(Graph& graph, PassContext& context) {
  if (!context.rules) return false;
  const auto& rules = context.rules->rules;
  context.rule_uses.resize(rules.size());
  bool noted = false;
  for (Node* node : graph.nodes()) {
    std::optional<size_t> taken;
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i]->matches(*node)) continue;
      PassContext::RuleUse& use = context.rule_uses[i];
      if (++use.matched; taken) {
        if (use.matched == 1) use.hidden_by = *taken;
        continue;
      }
      taken = i;
      ++use.held;
      QC_ASSIGN(QScheme scheme, rules[i]->scheme(*node));
      if (scheme.origin.empty()) scheme.origin = rules[i]->origin();
      const std::string name = node->loc().names.empty() ? "" : node->loc().names[0];
      context.notes.push_back({i, std::move(scheme), name});
      for (size_t o = 0; o < node->output_count(); ++o) {
        graph.set_note(node->output(o), static_cast<int>(context.notes.size() - 1));
      }
      noted = true;
    }
  }
  return noted;
}

Result<Ok> check_rule_uses(const PassContext& context) {
  if (!context.rules || context.rules->allow_unused) return Ok{};
  const auto& rules = context.rules->rules;
  for (size_t i = 0; i < context.rule_uses.size(); ++i) {
    const PassContext::RuleUse& use = context.rule_uses[i];
    const Loc loc{rules[i]->origin(), {}, {}};
    if (use.weightless > 0 && use.placed == 0) {
      return error(Code::rule, loc,
                   "the rule does nothing: it is for nodes with weights, and none of the {} it "
                   "matches has any that become codes; --allow-unused-rules lets it pass",
                   use.weightless);
    }
    if (use.held > 0) continue;
    if (use.matched == 0) {
      return error(Code::rule, loc,
                   "the rule matches no node: inspect --names lists what rules can match, "
                   "--allow-unused-rules lets it pass");
    }
    return error(Code::rule, loc,
                 "the rule is never used: earlier rules take what it matches ({}), the first of "
                 "them {}",
                 counted(use.matched, "node"), rules[use.hidden_by]->origin());
  }
  return Ok{};
}

}  // namespace qc
