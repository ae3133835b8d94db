#include "quant/emit.h"

namespace qc {

Result<Value*> emit_quantize(const InsertPoint& place, Value* x, const QType& to,
                             const Arithmetic& arithmetic) {
  return place.graph.emit("quantize", {x}, {{"to", to}, {"arithmetic", str(arithmetic)}}, place.loc,
                          place.before);
}

Result<Value*> emit_dequantize(const InsertPoint& place, Value* codes, Value* scale,
                               Value* zero_point) {
  return place.graph.emit("dequantize", {codes, scale, zero_point}, {}, place.loc, place.before);
}

Result<Value*> emit_requantize(const InsertPoint& place, Value* codes, const QType& to,
                               const Arithmetic& arithmetic) {
  return place.graph.emit("requantize", {codes}, {{"to", to}, {"arithmetic", str(arithmetic)}},
                          place.loc, place.before);
}

Result<Value*> emit_with_format(const InsertPoint& place, Value* codes, const QType& to) {
  if (codes->type().quant() == to) return codes;
  return place.graph.emit("with_format", {codes}, {{"to", to}}, place.loc, place.before);
}

Result<Value*> emit_part(const InsertPoint& place, Value* x, int64_t axis, int64_t first,
                         int64_t count) {
  Dims start(x->shape().size(), Dim(0)), size = x->shape();
  start[static_cast<size_t>(axis)] = Dim(first);
  size[static_cast<size_t>(axis)] = Dim(count);
  return place.graph.emit("slice", {x},
                          {{"start", start}, {"size", size}, {"step", Dims(size.size(), Dim(1))}},
                          place.loc, place.before);
}

Result<Value*> emit_reshape(const InsertPoint& place, Value* x, const Dims& shape) {
  if (x->shape() == shape) return x;
  return place.graph.emit("reshape", {x}, {{"shape", shape}}, place.loc, place.before);
}

Result<Value*> emit_dynamic(const InsertPoint& place, Value* x, const DynamicScheme& scheme) {
  QC_ASSIGN(Value * codes, place.graph.emit("quantize_dynamic", {x},
                                            {{"to", scheme.dtype},
                                             {"symmetric", scheme.symmetric},
                                             {"per_token", scheme.per_token}},
                                            place.loc, place.before));
  const Node* q = codes->def();
  return emit_dequantize(place, codes, q->output(1), q->output(2));
}

Result<Value*> emit_cast(const InsertPoint& place, Value* x, DType to) {
  return place.graph.emit("cast", {x}, {{"to", to}}, place.loc, place.before);
}

Result<Value*> emit_lookup(const InsertPoint& place, Value* codes, Tensor table, const QType& to) {
  return place.graph.emit("lookup", {codes, place.graph.constant(std::move(table))}, {{"to", to}},
                          place.loc, place.before);
}

}  // namespace qc
