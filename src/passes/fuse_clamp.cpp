#include "passes/fuse_clamp.h"

#include "ir/capability.h"
#include "passes/remark.h"

namespace qc {

Result<bool> fuse_clamp(Graph& graph, PassContext& context) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    const auto* clamp = capability<IsClamp>(node);
    if (!clamp) continue;
    Value* x = node->input(0);
    auto* host = x->index() == 0 ? capability<AbsorbsClamp>(x->def()) : nullptr;
    if (!host || !(x->type() == node->output()->type())) continue;
    const char* reason = !x->has_one_use() ? "others read its result too"
                         : !may_fuse(context.notes, x, node->output())
                             ? "rules quantize what is between them"
                         : !host->absorb_clamp(clamp->limits()) ? "it cannot take these limits"
                                                                : nullptr;
    if (reason) {
      remark_not_fused(context, "fuse_clamp", *node, *x->def(), reason);
      continue;
    }
    graph.set_loc(x->def(), join(x->def()->loc(), node->loc()));
    graph.replace_uses(node->output(), x);
    graph.erase(node);
    ++count;
  }
  remark_count(context, "fuse_clamp", count);
  return count > 0;
}

}  // namespace qc
