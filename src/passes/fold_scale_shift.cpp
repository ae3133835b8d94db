#include "passes/fold_scale_shift.h"

#include "ir/capability.h"
#include "passes/remark.h"

namespace qc {
namespace {

bool only_constants_beside(const Node& node, const Value* x) {
  for (const Value* other : node.inputs()) {
    if (other && other != x && !other->is_constant()) return false;
  }
  return true;
}

/// The node follows a host that takes its scale and shift.
Result<bool> fold_into_producer(Graph& graph, PassContext& context, Node* node,
                                const IsScaleShift& affine) {
  for (Value* x : node->inputs()) {
    auto* host = x ? capability<AbsorbsScaleShift>(x->def()) : nullptr;
    if (!host || x->index() != 0 || !(x->type() == node->output()->type())) continue;
    if (!only_constants_beside(*node, x)) continue;
    const char* reason = !x->has_one_use() ? "others read its result too"
                         : !may_fuse(context.notes, x, node->output())
                             ? "rules quantize what is between them"
                             : nullptr;
    if (!reason) {
      QC_ASSIGN(auto found, affine.scale_shift(graph, host->output_channel_axis()));
      if (!found || found->x != x) continue;
      QC_ASSIGN(bool absorbed, host->absorb_after(graph, found->scale, found->shift));
      if (!absorbed) reason = "its weights cannot take the factors";
    }
    if (reason) {
      remark_not_fused(context, "fold_scale_shift", *node, *x->def(), reason);
      continue;
    }
    graph.set_loc(x->def(), join(x->def()->loc(), node->loc()));
    graph.replace_uses(node->output(), x);
    graph.erase(node);
    return true;
  }
  return false;
}

/// The host reads a node whose scale and shift it takes.
Result<bool> fold_into_reader(Graph& graph, const QNotes& notes, Node* node,
                              AbsorbsScaleShift& host) {
  Value* x = node->input(0);
  const auto* affine = x && x->has_one_use() ? capability<IsScaleShift>(x->def()) : nullptr;
  if (!affine || !may_fuse(notes, x, node->output())) return false;
  QC_ASSIGN(auto found, affine->scale_shift(graph, host.input_channel_axis()));
  if (!found || !(found->x->type() == x->type())) return false;
  QC_ASSIGN(bool absorbed, host.absorb_before(graph, found->scale, found->shift));
  if (!absorbed) return false;
  graph.set_loc(node, join(x->def()->loc(), node->loc()));
  graph.set_input(node, 0, found->x);
  graph.erase(x->def());
  return true;
}

}  // namespace

Result<bool> fold_scale_shift(Graph& graph, PassContext& context) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    const auto* affine = capability<IsScaleShift>(node);
    if (!affine || node->output_count() != 1) continue;
    QC_ASSIGN(bool folded, fold_into_producer(graph, context, node, *affine));
    count += folded;
  }
  for (Node* node = graph.first(); node; node = node->next()) {
    auto* host = capability<AbsorbsScaleShift>(node);
    bool folded = host != nullptr;
    while (folded) {
      QC_ASSIGN(folded, fold_into_reader(graph, context.notes, node, *host));
      count += folded;
    }
  }
  remark_count(context, "fold_scale_shift", count);
  return count > 0;
}

}  // namespace qc
