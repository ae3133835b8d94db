#include "quant/emit.h"

namespace qc {

Result<Value*> emit_quantize(const InsertPoint& point, Value* x, const QType& to,
                             const Arithmetic& arithmetic) {
  return point.graph.emit("quantize", {x}, {{"to", to}, {"arithmetic", str(arithmetic)}}, point.loc,
                          point.before);
}

Result<Value*> emit_dequantize(const InsertPoint& point, Value* codes, Value* scale,
                               Value* zero_point) {
  return point.graph.emit("dequantize", {codes, scale, zero_point}, {}, point.loc, point.before);
}

Result<Value*> emit_requantize(const InsertPoint& point, Value* codes, const QType& to,
                               const Arithmetic& arithmetic) {
  return point.graph.emit("requantize", {codes}, {{"to", to}, {"arithmetic", str(arithmetic)}},
                          point.loc, point.before);
}

Result<Value*> emit_with_format(const InsertPoint& point, Value* codes, const QType& to) {
  if (codes->type().quant() == to) return codes;
  return point.graph.emit("with_format", {codes}, {{"to", to}}, point.loc, point.before);
}

Result<Value*> emit_slice(const InsertPoint& point, Value* x, int64_t axis, int64_t first,
                          int64_t count) {
  Dims start(x->shape().size(), Dim(0)), size = x->shape();
  start[static_cast<size_t>(axis)] = Dim(first);
  size[static_cast<size_t>(axis)] = Dim(count);
  return point.graph.emit("slice", {x},
                          {{"start", start}, {"size", size}, {"step", Dims(size.size(), Dim(1))}},
                          point.loc, point.before);
}

Result<Value*> emit_reshape(const InsertPoint& point, Value* x, const Dims& shape) {
  if (x->shape() == shape) return x;
  return point.graph.emit("reshape", {x}, {{"shape", shape}}, point.loc, point.before);
}

Result<Value*> emit_dynamic(const InsertPoint& point, Value* x, const DynamicScheme& scheme) {
  QC_ASSIGN(Value * codes, point.graph.emit("quantize_dynamic", {x},
                                            {{"to", scheme.dtype},
                                             {"symmetric", scheme.symmetric},
                                             {"per_token", scheme.per_token}},
                                            point.loc, point.before));
  const Node* q = codes->def();
  return emit_dequantize(point, codes, q->output(1), q->output(2));
}

Result<Value*> emit_cast(const InsertPoint& point, Value* x, DType to) {
  return point.graph.emit("cast", {x}, {{"to", to}}, point.loc, point.before);
}

Result<Value*> emit_lookup(const InsertPoint& point, Value* codes, Tensor table, const QType& to) {
  return point.graph.emit("lookup", {codes, point.graph.constant(std::move(table))}, {{"to", to}},
                          point.loc, point.before);
}

}  // namespace qc
