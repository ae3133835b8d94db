#include "passes/remove_no_ops.h"

namespace qc {

Result<bool> remove_no_ops(Graph& graph, PassContext&) {
  const size_t before = graph.node_count();
  for (Node* n = graph.first(); n; n = n->next()) {
    if (n->output_count() != 1 || !n->is_identity()) continue;
    Value* x = n->input(0);
    if (x && x->type() == n->output()->type()) graph.replace_uses(n->output(), x);
  }
  graph.sweep();
  return graph.node_count() != before;
}

}  // namespace qc
