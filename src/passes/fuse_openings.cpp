#include "passes/fuse_openings.h"

#include "ir/capability.h"
#include "ir/opening.h"
#include "passes/remark.h"

namespace qc {

Result<bool> fuse_openings(Graph& graph, PassContext& context) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    auto* host = capability<TakesOpening>(node);
    if (!host) continue;
    std::string reason;
    QC_ASSIGN(Node * made, host->with_opening(graph, reason));
    if (!made && !reason.empty()) {
      remark_kept(context, "fuse_openings", *node->input(0)->def(), *node, reason.c_str());
    }
    if (!made) continue;
    for (size_t i = 0; i < node->output_count(); ++i) {
      graph.replace_uses(node->output(i), made->output(i));
    }
    graph.erase(node);
    ++count;
  }
  if (count > 0) graph.sweep();
  remark_count(context, "fuse_openings", count);
  return count > 0;
}

}  // namespace qc
