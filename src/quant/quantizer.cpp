#include "kernels/numerics/quant.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

const Node* decoder(const Node& node, size_t i) {
  const Value* v = node.input(i);
  return v && capability<const IsDequantize>(v->def()) ? v->def() : nullptr;
}

}  // namespace

Quantizer::Quantizer(Graph& graph, Node& node, std::optional<QType> result, Arithmetic arithmetic)
    : graph_(graph), node_(node), result_(std::move(result)), arithmetic_(arithmetic) {}

Value* Quantizer::codes(size_t i) const {
  const Node* d = decoder(node_, i);
  return d ? d->input(0) : nullptr;
}

Value* Quantizer::scale(size_t i) const {
  const Node* d = decoder(node_, i);
  return d ? d->input(1) : nullptr;
}

Value* Quantizer::zero_point(size_t i) const {
  const Node* d = decoder(node_, i);
  return d ? d->input(2) : nullptr;
}

Result<Value*> Quantizer::emit(std::string_view op, std::vector<Value*> inputs,
                               AttrMap attrs) const {
  Loc loc = node_.loc();
  return graph_.emit(op, std::move(inputs), attrs, std::move(loc), &node_);
}

int64_t Quantizer::code_of(double value, const QType& type) {
  const Format& f = *type.format;
  return qn_quantize(static_cast<float>(value), f.scale_at(), f.zero_at(),
                     static_cast<int32_t>(f.qmin), static_cast<int32_t>(f.qmax));
}

Value* Quantizer::refuse(std::string reason) {
  reason_ = std::move(reason);
  return nullptr;
}

}  // namespace qc
