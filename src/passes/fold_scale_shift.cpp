#include "passes/fold_scale_shift.h"

#include "ir/capability.h"

namespace qc {
namespace {

/// The node follows a host that takes its scale and shift.
Result<bool> fold_into_producer(Graph& graph, const QNotes& notes, Node* node,
                                const IsScaleShift& affine) {
  for (Value* x : node->inputs()) {
    auto* host = x && x->has_one_use() ? capability<AbsorbsScaleShift>(x->def()) : nullptr;
    if (!host || x->index() != 0 || !(x->type() == node->output()->type())) continue;
    if (!may_fuse(notes, x, node->output())) continue;
    QC_ASSIGN(auto found, affine.scale_shift(graph, host->output_channel_axis()));
    if (!found || found->x != x) continue;
    QC_ASSIGN(bool absorbed, host->absorb_after(graph, found->scale, found->shift));
    if (!absorbed) continue;
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
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const auto* affine = capability<IsScaleShift>(node);
    if (!affine || node->output_count() != 1) continue;
    QC_ASSIGN(bool folded, fold_into_producer(graph, context.notes, node, *affine));
    changed = changed || folded;
  }
  for (Node* node = graph.first(); node; node = node->next()) {
    auto* host = capability<AbsorbsScaleShift>(node);
    bool folded = host != nullptr;
    while (folded) {
      QC_ASSIGN(folded, fold_into_reader(graph, context.notes, node, *host));
      changed = changed || folded;
    }
  }
  return changed;
}

}  // namespace qc
