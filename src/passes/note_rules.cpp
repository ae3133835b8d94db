#include "passes/note_rules.h"

#include "quant/rule.h"

namespace qc {

Result<bool> note_rules(Graph& graph, PassContext& context) {
  if (!context.rules) return false;
  const auto& rules = context.rules->rules;
  bool noted = false;
  for (Node* node : graph.nodes()) {
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i]->matches(*node)) continue;
      QC_ASSIGN(QScheme scheme, rules[i]->scheme(*node));
      if (scheme.origin.empty()) scheme.origin = rules[i]->origin();
      const std::string name = node->loc().names.empty() ? "" : node->loc().names[0];
      context.notes.push_back({i, std::move(scheme), name});
      for (size_t o = 0; o < node->output_count(); ++o) {
        graph.set_note(node->output(o), static_cast<int>(context.notes.size() - 1));
      }
      noted = true;
      break;
    }
  }
  return noted;
}

}  // namespace qc
