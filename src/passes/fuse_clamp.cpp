#include "passes/fuse_clamp.h"

#include "ir/capability.h"

namespace qc {

Result<bool> fuse_clamp(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const auto* clamp = capability<IsClamp>(node);
    if (!clamp) continue;
    Value* x = node->input(0);
    auto* host = x->has_one_use() && x->index() == 0 ? capability<AbsorbsClamp>(x->def()) : nullptr;
    if (!host || !(x->type() == node->output()->type())) continue;
    if (!may_fuse(context.notes, x, node->output())) continue;
    if (!host->absorb_clamp(clamp->limits())) continue;
    graph.set_loc(x->def(), join(x->def()->loc(), node->loc()));
    graph.replace_uses(node->output(), x);
    graph.erase(node);
    changed = true;
  }
  return changed;
}

}  // namespace qc
