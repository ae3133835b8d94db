#include "passes/fuse_quantize.h"

#include <unordered_set>

#include "ir/capability.h"
#include "passes/remark.h"
#include "quant/quantize_epilogue.h"

namespace qc {
namespace {

using Names = std::unordered_set<std::string>;

/// Names of nodes that are no quantizes. A quantize that rules made is named after its readers.
Names names_of_others(const Graph& graph) {
  Names out;
  for (Node* n = graph.first(); n; n = n->next()) {
    if (!capability<IsQuantizeEpilogue>(n))
      out.insert(n->loc().names.begin(), n->loc().names.end());
  }
  return out;
}

/// The names of the node that computes floats, with those of the quantize that are its own.
Loc fused_loc(const Node& producer, const Node& quantize, const Names& others) {
  Loc own = quantize.loc();
  std::erase_if(own.names, [&](const std::string& name) { return others.contains(name); });
  return own.names.empty() ? producer.loc() : join(producer.loc(), own);
}

/// Whether the quantize became part of what computes its operand.
Result<bool> fuse(Graph& graph, Node* node, QuantizeEpilogue epilogue, const Names& others,
                  PassContext& context) {
  Value* x = node->input(0);
  Node* producer = x->def();
  auto* host = x->index() == 0 ? capability<TakesQuantizeEpilogue>(producer) : nullptr;
  if (!host) return false;
  epilogue.floats = !x->has_one_use();
  std::string reason;
  const InsertPoint point{graph, fused_loc(*producer, *node, others), producer};
  QC_ASSIGN(Node * made, host->with_epilogue(epilogue, point, reason));
  if (!made) {
    remark_not_fused(context, "fuse_quantize", *node, *producer, reason.c_str());
    context.not_fused[node->output()->number()] =
        fmt::format("stays beside {}: {}", label(*producer), reason);
    return false;
  }
  for (size_t i = 0; i < node->output_count(); ++i) {
    graph.replace_uses(node->output(i), made->output(i));
  }
  graph.erase(node);
  if (epilogue.floats) graph.replace_uses(x, made->output(epilogue.floats_at()));
  graph.erase(producer);
  return true;
}

}  // namespace

Result<bool> fuse_quantize(Graph& graph, PassContext& context) {
  size_t count = 0;
  const Names others = names_of_others(graph);
  for (Node* node : graph.nodes()) {
    const auto* is_epilogue = capability<IsQuantizeEpilogue>(node);
    const std::optional<QuantizeEpilogue> epilogue =
        is_epilogue ? is_epilogue->epilogue() : std::nullopt;
    if (!epilogue) continue;
    QC_ASSIGN(const bool fused, fuse(graph, node, *epilogue, others, context));
    if (fused) ++count;
  }
  if (count > 0) graph.sweep();
  remark_count(context, "fuse_quantize", count);
  return count > 0;
}

}  // namespace qc
