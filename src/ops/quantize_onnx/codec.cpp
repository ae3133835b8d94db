#include "ops/quantize_onnx/codec.h"

#include "frontends/common/known.h"

namespace qc::onnx_codes {
namespace {

std::shared_ptr<Format> full_range(DType dtype) {
  auto format = std::make_shared<Format>();
  const CodeRange range = code_range(dtype);
  format->qmin = range.lo;
  format->qmax = range.hi;
  return format;
}

Component zero_points(const std::vector<int32_t>& zeros, bool one) {
  bool any = false;
  for (int32_t z : zeros) any = any || z != 0;
  if (!any) return {};
  const Ints shape = one ? Ints{} : Ints{static_cast<int64_t>(zeros.size())};
  return Component::of(Tensor::of<int32_t>(DType::i32, shape, zeros));
}

std::optional<QType> checked(DType dtype, std::shared_ptr<Format> format, const Dims& shape) {
  QType type{dtype, std::move(format)};
  if (!check_format(Type(type, shape), {}).ok()) return std::nullopt;
  return type;
}

/// Whether blocks of scales of shape `scales` cover `shape`.
bool covers(const std::vector<int64_t>& scales, const Dims& shape, int64_t axis, int64_t block) {
  if (block < 1 || scales.size() != shape.size() || !all_static(shape)) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t d = shape[i].value();
    const int64_t want = static_cast<int64_t>(i) == axis ? (d + block - 1) / block : d;
    if (scales[i] != want) return false;
  }
  return true;
}

}  // namespace

std::optional<QType> known_format(DType dtype, const Dims& shape, int64_t axis,
                                  const std::vector<float>& scales,
                                  const std::vector<int32_t>& zeros) {
  auto format = full_range(dtype);
  const bool one = scales.size() == 1;
  if (!one) {
    format->granularity = Granularity::axis;
    format->axis = axis;
  }
  const Ints count = one ? Ints{} : Ints{static_cast<int64_t>(scales.size())};
  format->scale = Component::of(Tensor::of<float>(DType::f32, count, scales));
  format->zero_point = zero_points(zeros, one);
  return checked(dtype, std::move(format), shape);
}

std::optional<QType> known_format(const Graph& graph, DType dtype, const Dims& shape,
                                  const Coding& coding) {
  if (!coding.scale || coding.scale->dtype() != DType::f32 || !is_integer(dtype) ||
      bits(dtype) > 32) {
    return std::nullopt;
  }
  const auto scale = known_tensor(graph, coding.scale);
  if (!scale) return std::nullopt;
  std::vector<int32_t> zeros;
  if (coding.zero) {
    const auto zero = known_tensor(graph, coding.zero);
    if (!zero || (zero->size() != scale->size() && zero->size() != 1)) return std::nullopt;
    for (int64_t i = 0; i < zero->size(); ++i) {
      zeros.push_back(static_cast<int32_t>(zero->as_int(i)));
    }
    zeros.resize(static_cast<size_t>(scale->size()), zeros.empty() ? 0 : zeros[0]);
  }
  const std::vector<float> scales(scale->data<float>(), scale->data<float>() + scale->size());
  if (scales.size() == 1) return known_format(dtype, shape, 0, scales, zeros);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t axis = coding.axis < 0 ? coding.axis + rank : coding.axis;
  if (axis < 0 || axis >= rank) return std::nullopt;
  if (coding.block == 0) {
    if (scale->rank() != 1 || !shape[static_cast<size_t>(axis)].is_static()) return std::nullopt;
    return known_format(dtype, shape, axis, scales, zeros);
  }
  if (!covers(scale->shape(), shape, axis, coding.block)) return std::nullopt;
  auto format = full_range(dtype);
  format->granularity = Granularity::group;
  format->axis = axis;
  format->group = coding.block;
  format->scale = Component::of(scale->reshaped({scale->size()}));
  format->zero_point = zero_points(zeros, false);
  return checked(dtype, std::move(format), shape);
}

Value* as_codes(Compose& c, Value* x, const QType& type) {
  if (!c.ok()) return nullptr;
  if (x->type().quant() == type) return x;
  if (x->is_constant()) return c.import().graph().constant(x->constant(), type.format);
  // Integers that were codes of this format a moment ago.
  if (const Node* def = x->def(); def && def->op() == "with_format") {
    if (def->input(0)->type().quant() == type) return def->input(0);
  }
  return c.emit("with_format", {x}, {{"to", type}});
}

Value* spread(Compose& c, Value* v, const Value* x, int64_t axis, int64_t block) {
  if (!c.ok() || !v || product(v->shape()) == Dim(1)) return c.ok() && v ? c.reshape(v, {}) : v;
  axis = c.take(resolve_axis(axis, x->rank(), c.import().loc()));
  if (!c.ok()) return nullptr;
  const size_t a = static_cast<size_t>(axis);
  if (block == 0) {
    if (v->rank() != 1 || !(v->shape()[0] == x->shape()[a])) {
      c.fail(Code::shape, "scales {} for axis {} of {}", str(v->shape()), axis, str(x->shape()));
      return nullptr;
    }
    Dims shape(static_cast<size_t>(x->rank()), Dim(1));
    shape[a] = v->shape()[0];
    return c.reshape(v, shape);
  }
  if (v->rank() != x->rank() || block < 0) {
    c.fail(Code::shape, "scales {} for blocks of {}", str(v->shape()), str(x->shape()));
    return nullptr;
  }
  Dims apart = v->shape(), repeated = v->shape(), joined = v->shape();
  apart.insert(apart.begin() + axis + 1, Dim(1));
  repeated.insert(repeated.begin() + axis + 1, Dim(block));
  joined[a] = joined[a] * Dim(block);
  v = c.emit("expand", {c.reshape(v, apart)}, {{"shape", repeated}});
  v = c.reshape(v, joined);
  if (!c.ok() || joined[a] == x->shape()[a]) return v;
  if (!x->shape()[a].is_static()) {
    c.fail(Code::dim, "blocks over axis {} of size {}", axis, x->shape()[a].str());
    return nullptr;
  }
  return c("Slice", {v, c.ints({0}), c.ints({x->shape()[a].value()}), c.ints({axis})});
}

Value* to_codes(Compose& c, Value* v, Value* zero, DType to) {
  v = c("Round", {c.cast(v, DType::f32)});
  if (zero) v = c("Add", {v, c.cast(zero, DType::f32)});
  const CodeRange range = code_range(to);
  const double lo = static_cast<double>(range.lo);
  Value* codes = c.cast(c.clamp(v, lo, static_cast<double>(range.hi)), to);
  if (range.lo == 0) return codes;  // which a NaN becomes
  return c.emit("where", {c.emit("isnan", {v}), c.number(lo, to), codes});
}

Value* centred(Compose& c, Value* x, Value* zero) {
  x = c.cast(x, DType::i32);
  return zero ? c("Sub", {x, c.cast(zero, DType::i32)}) : x;
}

namespace {

/// The codes of quantize_dynamic behind integers x with the scale it gave; null for others.
Value* dynamic_codes(const Value* x, const Coding& coding) {
  const Node* plain = x->def();
  if (!plain || plain->op() != "with_format" || !plain->input(0)->type().format) return nullptr;
  Value* codes = plain->input(0);
  const bool given =
      codes->type().format->is_dynamic() && codes->def() && coding.scale == codes->def()->output(1);
  return given ? codes : nullptr;
}

}  // namespace

bool has_format(const Graph& graph, const Value* x, const Coding& coding) {
  return known_format(graph, x->dtype(), x->shape(), coding) || dynamic_codes(x, coding);
}

Value* decode(Compose& c, Value* x, const Coding& coding) {
  if (!c.ok()) return nullptr;
  if (const auto type = known_format(c.import().graph(), x->dtype(), x->shape(), coding)) {
    return c.emit("dequantize", {as_codes(c, x, *type)});
  }
  if (Value* codes = dynamic_codes(x, coding)) {
    return c.emit("dequantize", {codes, codes->def()->output(1), codes->def()->output(2)});
  }
  Value* scale = spread(c, coding.scale, x, coding.axis, coding.block);
  Value* zero = spread(c, coding.zero, x, coding.axis, coding.block);
  Value* v = nullptr;
  if (is_integer(x->dtype())) {
    v = c.cast(centred(c, x, zero), DType::f32);
  } else {
    v = c.cast(x, DType::f32);
    if (zero) v = c("Sub", {v, c.cast(zero, DType::f32)});
  }
  return c("Mul", {v, c.cast(scale, DType::f32)});
}

Value* encode(Compose& c, Value* v, const Coding& coding, DType to, std::string_view arithmetic) {
  if (!c.ok()) return nullptr;
  const auto type = known_format(c.import().graph(), to, v->shape(), coding);
  if (type && bits(to) <= 16 && v->dtype() == DType::f32) {
    v = c.emit("quantize", {v}, {{"to", *type}, {"arithmetic", std::string(arithmetic)}});
    return c.emit("with_format", {v}, {{"to", QType{to, nullptr}}});
  }
  Value* scale = spread(c, coding.scale, v, coding.axis, coding.block);
  Value* zero = spread(c, coding.zero, v, coding.axis, coding.block);
  return to_codes(c, c("Div", {v, c.cast(scale, v->dtype())}), zero, to);
}

}  // namespace qc::onnx_codes
