#include "passes/expose_codes.h"

#include "quant/quantizable.h"

namespace qc {
namespace {

/// The quantize nodes that read an input when all its readers are such and want one format.
std::vector<Node*> quantizers(const Value* input) {
  std::vector<Node*> out;
  if (input->pinned() > 0) return {};
  for (Node* user : input->users()) {
    const auto* q = capability<IsQuantize>(user);
    if (!q || (!out.empty() && !(capability<IsQuantize>(out[0])->format() == q->format()))) {
      return {};
    }
    out.push_back(user);
  }
  return out;
}

}  // namespace

Result<bool> expose_codes(Graph& graph, PassContext&) {
  bool changed = false;
  for (Value* input : graph.inputs()) {
    const std::vector<Node*> readers = quantizers(input);
    if (readers.empty()) continue;
    const Type codes = readers[0]->output()->type();
    for (Node* q : readers) {
      graph.replace_uses(q->output(), input);
      graph.erase(q);
    }
    graph.set_type(input, codes);
    changed = true;
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Node* d = graph.outputs()[i].value->def();
    if (!capability<IsDequantize>(d) || d->input(1)) continue;
    graph.set_output(i, d->input(0));
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
