#include "passes/note_rules.h"

#include <fmt/format.h>

#include <map>

#include "passes/remark.h"
#include "quant/quantizable.h"
#include "quant/rule_index.h"
#include "quant/weight_matrices.h"
#include "support/counted.h"

namespace qc {

namespace {

/// Elements of the constant weights of a product; 0 for other nodes.
int64_t weight_elements(Node& node) {
  const auto* quantizable = capability<Quantizable>(&node);
  const Value* w = quantizable && quantizable->weight_operand() >= 0
                       ? node.input(static_cast<size_t>(quantizable->weight_operand()))
                       : weight_matrices(node);
  if (!w || !w->is_constant() || !is_float(w->dtype())) return 0;
  return node.graph()->pool().element_count(w->constant());
}

/// Products whose op alone keeps them from a rule, by its origin and op.
struct Missed {
  size_t count = 0;
  int64_t elements = 0;
  std::string first, op;
};
using MissedByRule = std::map<std::pair<std::string, std::string>, Missed>;

void note_missed(const std::vector<std::unique_ptr<QuantRule>>& rules, const RuleIndex& index,
                 Node& node, int64_t elements, MissedByRule& missed) {
  for (const size_t i : index.named(node)) {
    const auto& rule = rules[i];
    const std::string_view op = rule->quantizes() ? rule->missed_op(node) : std::string_view();
    if (op.empty()) continue;
    Missed& m = missed[{rule->origin(), std::string(op)}];
    if (m.count++ == 0) {
      m.first = label(node);
      m.op = node.op();
    }
    m.elements += elements;
    return;
  }
}

/// A rule for one op that leaves much of the weights to others, such as linear layers beside the
/// experts of a mixture, says so.
void warn_missed(const MissedByRule& missed, int64_t all, PassContext& context) {
  constexpr int64_t kPart = 5;  // of the weights that are worth a word
  for (const auto& [rule, m] : missed) {
    if (m.elements < all / kPart) continue;
    context.warnings.push_back(fmt::format(
        "{} names op '{}', so {}, with {} % of the weights, stay{} float, although the pattern "
        "matches; "
        "a rule with op = '{}' quantizes {}",
        rule.first, rule.second,
        m.count > 1 ? fmt::format("{} and {} more", m.first, m.count - 1) : m.first,
        100 * m.elements / all, m.count > 1 ? "" : "s", m.op, m.count > 1 ? "them" : "it"));
  }
}

}  // namespace

Result<bool> note_rules(Graph& graph, PassContext& context) {
  if (!context.rules) return false;
  const auto& rules = context.rules->rules;
  context.rule_uses.resize(rules.size());
  const RuleIndex index(rules);
  bool noted = false;
  MissedByRule missed;
  int64_t weights = 0;
  for (Node* node : graph.nodes()) {
    std::optional<size_t> taken;
    const int64_t elements = weight_elements(*node);
    weights += elements;
    bool keeps = false;
    for (const size_t i : index.matching(*node)) {
      PassContext::RuleUse& use = context.rule_uses[i];
      if (++use.matched; taken) {
        if (use.matched == 1) use.hidden_by = *taken;
        use.excepted = use.excepted && keeps;
        continue;
      }
      taken = i;
      ++use.held;
      QC_ASSIGN(QScheme scheme, rules[i]->scheme(*node));
      if (scheme.origin.empty()) scheme.origin = rules[i]->origin();
      keeps = scheme.kind == QScheme::Kind::keep;
      const std::string name = node->loc().names.empty() ? "" : node->loc().names[0];
      context.notes.push_back({i, std::move(scheme), name});
      for (size_t o = 0; o < node->output_count(); ++o) {
        graph.set_note(node->output(o), static_cast<int>(context.notes.size() - 1));
      }
      noted = true;
    }
    if (!taken && elements > 0) note_missed(rules, index, *node, elements, missed);
  }
  warn_missed(missed, weights, context);
  return noted;
}

Result<Ok> check_rule_uses(const PassContext& context) {
  if (!context.rules || context.rules->allow_unused) return Ok{};
  const auto& rules = context.rules->rules;
  for (size_t i = 0; i < context.rule_uses.size(); ++i) {
    const PassContext::RuleUse& use = context.rule_uses[i];
    const Loc loc{rules[i]->origin(), {}, {}};
    if (use.weightless > 0 && use.inserted == 0) {
      return error(Code::rule, loc,
                   "the rule does nothing: it is for nodes with weights, and none of the {} it "
                   "matches has any that become codes; --allow-unused-rules "
                   "(allow_unused_rules=True) lets it pass",
                   use.weightless);
    }
    if (use.held > 0) continue;
    if (use.matched == 0) {
      return error(Code::rule, loc,
                   "the rule matches no node: inspect --names lists what rules can match, "
                   "--allow-unused-rules (allow_unused_rules=True) lets it pass");
    }
    // Exceptions stand before what they except, and before all that calibration found.
    if (use.excepted || rules[i]->is_calibrated()) continue;
    return error(Code::rule, loc,
                 "the rule is never used: earlier rules take what it matches ({}), the first of "
                 "them {}; the rule for fewer nodes comes first, --allow-unused-rules "
                 "(allow_unused_rules=True) lets it pass",
                 counted(use.matched, "node"), rules[use.hidden_by]->origin());
  }
  return Ok{};
}

}  // namespace qc
