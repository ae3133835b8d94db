#include "ops/attention/compose.h"

#include <cmath>

#include "ops/common/range.h"

namespace qc {
namespace {

AttrMap window_attrs(const AttentionCall& c) {
  return {{"scale", written_scale(c.scale, c.q)},
          {"softcap", c.softcap},
          {"left", c.left},
          {"right", c.right},
          {"offset", c.offset}};
}

/// Positions 0, 1, ... along `axis` of four.
Result<Value*> positions(const Import& m, const Dim& n, size_t axis) {
  QC_ASSIGN(Value * all, m.emit("iota", {}, {{"size", n}, {"dtype", DType::i64}}));
  Dims shape(4, Dim(1));
  shape[axis] = n;
  return reshaped(m, all, shape);
}

/// Every head of keys or values as often as heads share it.
Result<Value*> repeated_heads(const Import& m, Value* x, const Dim& heads) {
  const Dims s = x->shape();
  if (s[1] == heads) return x;
  const Dim group = floordiv(heads, s[1]);
  QC_ASSIGN(x, reshaped(m, x, {s[0], s[1], Dim(1), s[2], s[3]}));
  QC_ASSIGN(x, m.emit("expand", {x}, {{"shape", Dims{s[0], s[1], group, s[2], s[3]}}}));
  return reshaped(m, x, {s[0], heads, s[2], s[3]});
}

}  // namespace

Result<Value*> emit_attention(const Import& m, AttentionCall c) {
  const DType type = c.q->dtype();
  for (Value** v : {&c.q, &c.k, &c.v}) {
    QC_ASSIGN(*v, m.cast(*v, DType::f32));
  }
  if (c.mask && c.mask->dtype() != DType::boolean) {
    QC_ASSIGN(c.mask, m.cast(c.mask, DType::f32));
  }
  Values inputs{c.q, c.k, c.v};
  if (c.mask) inputs.push_back(c.mask);
  QC_ASSIGN(Value * y, m.emit("attention", std::move(inputs), window_attrs(c)));
  return m.cast(y, type);
}

Result<Value*> visible_keys(const Import& m, const AttentionCall& c, Value* valid) {
  QC_ASSIGN(Value * keys, positions(m, c.k->shape()[2], 3));
  Value* visible = nullptr;
  auto require = [&](std::string_view compare, Value* a, Value* b) -> Result<Ok> {
    QC_ASSIGN(Value * holds, m.emit(compare, {a, b}));
    if (visible) {
      QC_ASSIGN(holds, m.emit("logical_and", {visible, holds}));
    }
    visible = holds;
    return Ok{};
  };
  if (valid) {
    QC_ASSIGN(valid, m.cast(valid, DType::i64));
    QC_ASSIGN(valid, reshaped(m, valid, {product(valid->shape()), Dim(1), Dim(1), Dim(1)}));
    QC_TRY(require("lt", keys, valid));
  }
  if (c.left < 0 && c.right < 0) return visible;
  QC_ASSIGN(Value * at, positions(m, c.q->shape()[2], 2));
  auto shifted = [&](Value* x, const Dim& by) -> Result<Value*> {
    QC_ASSIGN(Value * distance, m.emit("dims", {}, {{"values", Dims{by}}, {"scalar", true}}));
    return m.emit("add", {x, distance});
  };
  if (valid) {
    QC_ASSIGN(at, m.emit("add", {at, valid}));
    QC_ASSIGN(at, shifted(at, Dim(0) - c.q->shape()[2]));
  } else {
    QC_ASSIGN(at, shifted(at, c.offset));
  }
  if (c.right >= 0) {
    QC_ASSIGN(Value * last, shifted(at, Dim(c.right)));
    QC_TRY(require("le", keys, last));
  }
  if (c.left >= 0) {
    QC_ASSIGN(Value * first, shifted(at, Dim(-c.left)));
    QC_TRY(require("ge", keys, first));
  }
  return visible;
}

Result<Value*> joined_masks(const Import& m, Value* mask, Value* visible) {
  if (!mask || !visible) return mask ? mask : visible;
  if (mask->dtype() == DType::boolean) return m.emit("logical_and", {mask, visible});
  return m.emit("where", {visible, mask, m.scalar(-kInf, mask->dtype())});
}

Result<AttentionSteps> emit_attention_steps(const Import& m, AttentionCall c, DType precision) {
  const DType type = c.q->dtype();
  const Dim depth = c.q->shape()[3], heads = c.q->shape()[1];
  if (c.scale == 0 && (!depth.is_static() || depth.value() < 1)) {
    return m.fail(Code::dim, "the scale of a depth of {}", depth.str());
  }
  const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(depth.value()));
  QC_ASSIGN(Value * k, repeated_heads(m, c.k, heads));
  QC_ASSIGN(Value * v, repeated_heads(m, c.v, heads));
  AttentionSteps s{};
  // Both factors get the root of the scale, as ONNX says, which keeps 16-bit products in range.
  const double part = scale > 0 ? std::sqrt(scale) : scale;
  QC_ASSIGN(Value * q, m.emit("mul", {c.q, m.scalar(part, type)}));
  if (scale > 0) {
    QC_ASSIGN(k, m.emit("mul", {k, m.scalar(part, type)}));
  }
  QC_ASSIGN(s.raw, m.emit("matmul", {q, k}, {{"transpose_b", true}}));
  s.capped = s.raw;
  if (c.softcap > 0) {
    Value* cap = m.scalar(c.softcap, type);
    QC_ASSIGN(s.capped, m.emit("div", {s.capped, cap}));
    QC_ASSIGN(s.capped, m.emit("tanh", {s.capped}));
    QC_ASSIGN(s.capped, m.emit("mul", {s.capped, cap}));
  }
  QC_ASSIGN(Value * visible, visible_keys(m, c, nullptr));
  QC_ASSIGN(Value * mask, joined_masks(m, c.mask, visible));
  s.biased = s.capped;
  Value* hidden = nullptr;
  if (mask) {
    const int64_t last = mask->rank() - 1;
    if (mask->dtype() == DType::boolean) {
      QC_ASSIGN(mask, m.emit("where", {mask, m.scalar(0, type), m.scalar(-kInf, type)}));
    }
    QC_ASSIGN(mask, m.cast(mask, type));
    QC_ASSIGN(s.biased, m.emit("add", {s.capped, mask}));
    QC_ASSIGN(Value * best,
              m.emit("reduce_max", {mask}, {{"axes", Ints{last}}, {"keepdims", true}}));
    QC_ASSIGN(hidden, m.emit("eq", {best, m.scalar(-kInf, type)}));
  }
  QC_ASSIGN(Value * scores, m.cast(s.biased, precision));
  QC_ASSIGN(Value * weights, m.emit("softmax", {scores}, {{"axis", int64_t{3}}}));
  QC_ASSIGN(s.weights, m.cast(weights, type));
  if (hidden) {
    QC_ASSIGN(s.weights, m.emit("where", {hidden, m.scalar(0, type), s.weights}));
  }
  QC_ASSIGN(s.y, m.emit("matmul", {s.weights, v}));
  return s;
}

}  // namespace qc
