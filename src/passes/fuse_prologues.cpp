#include "passes/fuse_prologues.h"

#include "ir/capability.h"
#include "ir/prologue.h"
#include "passes/remark.h"

namespace qc {

Result<bool> fuse_prologues(Graph& graph, PassContext& context) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    auto* host = capability<TakesPrologue>(node);
    if (!host) continue;
    std::string reason;
    QC_ASSIGN(Node * made, host->with_prologue(graph, reason));
    if (!made && !reason.empty()) {
      remark_not_fused(context, "fuse_prologues", *node->input(0)->def(), *node, reason.c_str());
    }
    if (!made) continue;
    for (size_t i = 0; i < node->output_count(); ++i) {
      graph.replace_uses(node->output(i), made->output(i));
    }
    graph.erase(node);
    ++count;
  }
  if (count > 0) graph.sweep();
  remark_count(context, "fuse_prologues", count);
  return count > 0;
}

}  // namespace qc
