// Products of an activation and a factor, as in SwiGLU, that write codes.
#include "ops/activation/activation.h"
#include "ops/binary/binary.h"

namespace qc {

Result<Node*> Binary::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                    std::string& reason) {
  reason = "it is no product of an activation";
  if (op() != "mul" || is_limited()) return static_cast<Node*>(nullptr);
  if (epilogue.floats) {
    reason = kReadAsFloats;
    return static_cast<Node*>(nullptr);
  }
  for (size_t i = 0; i < 2; ++i) {
    Value *gate = input(i), *factor = input(1 - i);
    const Node* f = gate->def();
    const std::string_view fn = f ? ActivationQuantize::computed_by(*f) : std::string_view();
    if (fn.empty() || gate == factor || factor->is_constant()) continue;
    if (gate->shape() != factor->shape()) {
      reason = "activation and factor have different shapes";
      continue;
    }
    if (!gate->has_one_use()) {
      reason = "others read its activation too";
      continue;
    }
    auto fused = std::make_unique<ActivationQuantize>(epilogue.dynamic);
    fused->fn = fn;
    fused->epilogue = epilogue;
    return point.graph.add(std::move(fused), {f->input(0), factor}, join(f->loc(), point.loc),
                           point.before);
  }
  return static_cast<Node*>(nullptr);
}

}  // namespace qc
