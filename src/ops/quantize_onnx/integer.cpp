#include "ops/quantize_onnx/integer.h"

#include "frontends/common/known.h"
#include "ops/common/importing.h"
#include "ops/conv/conv.h"
#include "ops/matmul/qmatmul.h"
#include "ops/quantize_onnx/codec.h"

namespace qc::onnx_codes {
namespace {

/// Codes of scale 1 with the model's zero point, where that is known: one, or one per index of
/// `axis`.
std::optional<QType> unscaled(const Graph& graph, const Value* x, const Value* zero, size_t axis) {
  std::vector<int32_t> zeros{0};
  if (zero) {
    const auto known = known_tensor(graph, zero);
    if (!known || known->size() == 0) return std::nullopt;
    const bool one = known->size() == 1;
    if (!one && (known->rank() != 1 || x->shape()[axis] != Dim(known->size()))) return std::nullopt;
    zeros.clear();
    for (int64_t i = 0; i < known->size(); ++i) {
      zeros.push_back(static_cast<int32_t>(known->as_int(i)));
    }
  }
  return known_format(x->dtype(), x->shape(), static_cast<int64_t>(axis),
                      std::vector<float>(zeros.size(), 1.0f), zeros);
}

/// Operand 0 of a product of codes, with scale and zero point where those are known at run time.
struct Codes {
  Value* codes = nullptr;
  Value* scale = nullptr;
  Value* zero = nullptr;

  Values inputs(Value* weights) const {
    if (!scale) return {codes, weights};
    return {codes, weights, nullptr, scale, zero};
  }
};
std::optional<Codes> left_codes(Compose& c, Value* x, Value* zero) {
  if (const auto type = unscaled(c.import().graph(), x, zero, 0);
      type && type->format->granularity == Granularity::tensor) {
    return Codes{as_codes(c, x, *type)};
  }
  // What DynamicQuantizeLinear gave: plain integers of codes with dynamic scales, and their zero
  // point cast.
  const Node* plain = x->def();
  if (!zero || !zero->def() || !plain || plain->op() != "with_format") return std::nullopt;
  Value* codes = plain->input(0);
  const Node* made = codes->def();
  if (!codes->type().format || !codes->type().format->is_dynamic() || !made ||
      made->output_count() != 3 || zero->def()->input_count() != 1 ||
      zero->def()->input(0) != made->output(2)) {
    return std::nullopt;
  }
  return Codes{codes, made->output(1), made->output(2)};
}

const AttrMap& as_accumulators() {
  static const AttrMap attrs{{"to", QType{DType::i32, nullptr}}};
  return attrs;
}

/// One node for a product of codes; null where there is none.
Value* direct_product(Compose& c, Value* a, Value* za, Value* b, Value* zb) {
  if (!c.ok() || a->rank() < 1 || b->rank() < 2) return nullptr;
  Graph& graph = c.import().graph();
  const auto type = unscaled(graph, b, zb, b->shape().size() - 1);
  const bool linear = b->is_constant() && b->rank() == 2;
  if (!type || (!linear && (a->rank() < 2 || type->format->granularity != Granularity::tensor))) {
    return nullptr;
  }
  const auto left = left_codes(c, a, za);
  if (!left || !c.ok()) return nullptr;
  Value* w = as_codes(c, b, *type);
  if (!linear) return c.emit("qmatmul", left->inputs(w), as_accumulators());
  return c.ok() ? c.emit("qlinear", left->inputs(swapped_codes(graph, w)), as_accumulators())
                : nullptr;
}

/// Most terms of a sum that fits 31 bits whatever the codes are.
constexpr int64_t kSafeTerms = (int64_t{1} << 31) / (255 * 255);

Value* direct_conv(Compose& c, Value* x, Value* zx, Value* w, Value* zw) {
  if (!c.ok() || !w->is_constant()) return nullptr;
  const Dim terms = product(Dims(w->shape().begin() + 1, w->shape().end()));
  const auto type = unscaled(c.import().graph(), w, zw, 0);
  if (!type || !terms.is_static() || terms.value() > kSafeTerms) return nullptr;
  const auto left = left_codes(c, x, zx);
  if (!left || !c.ok()) return nullptr;
  ForeignNode node = c.import().node();
  node.inputs = {x, w};
  AttrMap attrs = c.take(onnx_conv_window(Import(c.import().graph(), node)));
  attrs["to"] = QType{DType::i32, nullptr};
  return c.emit("qconv", left->inputs(as_codes(c, w, *type)), attrs);
}

/// A zero point of the left operand: one for all, or one per row.
Value* per_row(Compose& c, Value* zero) {
  if (!zero || zero->rank() == 0 || !c.ok()) return zero;
  if (product(zero->shape()) == Dim(1)) return c.reshape(zero, {});
  if (zero->rank() > 1) return zero;
  return c.reshape(zero, {zero->shape()[0], Dim(1)});
}
/// A scale or zero point of the right operand: one for all, or one per column.
Value* per_column(Compose& c, Value* v) {
  return v && c.ok() && product(v->shape()) == Dim(1) ? c.reshape(v, {}) : v;
}
/// A value per channel of weights [M, ...], arranged along `axis` of a tensor of the given rank.
Value* per_channel(Compose& c, Value* v, int64_t rank, size_t axis) {
  if (!v || !c.ok()) return v;
  if (product(v->shape()) == Dim(1)) return c.reshape(v, {});
  Dims shape(static_cast<size_t>(rank), Dim(1));
  shape[axis] = product(v->shape());
  return c.reshape(v, shape);
}

/// Accumulators as i32.
Value* product_of(Compose& c, Value* a, Value* za, Value* b, Value* zb) {
  if (Value* y = direct_product(c, a, za, b, zb)) return y;
  return c("MatMul", {centred(c, a, per_row(c, za)), centred(c, b, per_column(c, zb))});
}

Value* as_f32(Compose& c, Value* v) { return c.cast(v, DType::f32); }

/// f32(sum) * (scale_a * scale_b / scale_y), rounded to codes.
Value* rescaled(Compose& c, Value* sum, Value* sa, Value* sb, Value* sy, Value* zero, DType to) {
  Value* m = c("Div", {c("Mul", {as_f32(c, sa), as_f32(c, sb)}), as_f32(c, sy)});
  return to_codes(c, c("Mul", {as_f32(c, sum), m}), zero, to);
}

Compose::Args window_args(const Import& m) {
  Compose::Args args;
  for (const auto& [name, value] : m.node().args) {
    if (name != "channels_last") args.emplace_back(name, value);
  }
  return args;
}

/// The exact accumulators of an integer convolution, as i32 or f64.
Value* integer_conv(Compose& c, Value* x, Value* zx, Value* w, Value* zw) {
  if (!c.ok() || x->rank() < 3 || w->rank() != x->rank()) {
    c.fail(Code::shape, "integer convolution of operands with ranks below 3 or unequal ranks");
    return nullptr;
  }
  if (Value* y = direct_conv(c, x, zx, w, zw)) return y;
  Value* a = c.cast(centred(c, x, per_column(c, zx)), DType::f64);
  Value* b = c.cast(centred(c, w, per_channel(c, zw, w->rank(), 0)), DType::f64);
  return c("Conv", {a, b}, window_args(c.import()));
}

}  // namespace

Result<Values> matmul_integer(Import& m) {
  Compose c(m);
  Value *a = c.take(operand(m, 0)), *b = c.take(operand(m, 1));
  return c.done({product_of(c, a, m.in(2), b, m.in(3))});
}

Result<Values> conv_integer(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* w = c.take(operand(m, 1));
  return c.done({c.cast(integer_conv(c, x, m.in(2), w, m.in(3)), DType::i32)});
}

Result<Values> exact_qlinear_matmul(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  if (!c.ok()) return c.done({});
  Value* sum = product_of(c, m.in(0), m.in(2), m.in(3), m.in(5));
  return c.done({rescaled(c, sum, per_row(c, m.in(1)), per_column(c, m.in(4)),
                          per_column(c, m.in(6)), per_column(c, m.in(7)), m.in(7)->dtype())});
}

Result<Values> exact_qlinear_conv(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  if (c.take(m.b("channels_last", false))) c.fail(Code::unsupported, "channels_last");
  if (!c.ok()) return c.done({});
  Value* sum = integer_conv(c, m.in(0), m.in(2), m.in(3), m.in(5));
  if (!c.ok()) return c.done({});
  const int64_t rank = m.in(0)->rank();
  if (m.has(8))
    sum = c("Add", {c.cast(sum, DType::f64), c.cast(per_channel(c, m.in(8), rank, 1), DType::f64)});
  return c.done({rescaled(c, sum, per_column(c, m.in(1)), per_channel(c, m.in(4), rank, 1),
                          per_column(c, m.in(6)), per_column(c, m.in(7)), m.in(7)->dtype())});
}

Result<Values> exact_qgemm(Import& m) {
  Compose c(m);
  for (size_t i : {0, 1, 3, 4}) c.take(operand(m, i));
  const double alpha = c.take(m.f("alpha", 1));
  Value *a = m.in(0), *b = m.in(3);
  if (c.take(m.b("transA", false))) a = c("Transpose", {a});
  if (c.take(m.b("transB", false))) b = c("Transpose", {b});
  Value* sum = product_of(c, a, m.in(2), b, m.in(5));
  if (m.has(6)) sum = c("Add", {sum, m.in(6)});
  Value* sa = c("Mul", {c.number(alpha, DType::f32), per_column(c, m.in(1))});
  Value* sb = per_column(c, m.in(4));
  if (!m.has(7)) return c.done({c("Mul", {as_f32(c, sum), c("Mul", {sa, sb})})});
  const DType to = m.has(8) ? m.in(8)->dtype() : m.in(0)->dtype();
  return c.done({rescaled(c, sum, sa, sb, per_column(c, m.in(7)), per_column(c, m.in(8)), to)});
}

Result<Values> exact_matmul_to_float(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 4; ++i) c.take(operand(m, i));
  if (!c.ok()) return c.done({});
  Value* sum = product_of(c, m.in(0), m.in(4), m.in(1), m.in(5));
  Value* scale = c("Mul", {per_column(c, m.in(2)), per_column(c, m.in(3))});
  Value* y = c("Mul", {as_f32(c, sum), scale});
  return c.done({m.has(6) ? c("Add", {y, m.in(6)}) : y});
}

}  // namespace qc::onnx_codes
