#include "ops/cast/cast.h"

#include <cstring>

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/cast/calls.h"
#include "kernels/numerics/cast.h"
#include "ops/common/broadcast.h"
#include "program/lowering.h"

namespace qc {
namespace {

using f32 = float;
using f64 = double;
using i64 = int64_t;
using u64 = uint64_t;

// One overload per kind an element's value is held in.
void put(Tensor& y, int64_t i, DType to, float v) {
  switch (to) {
#define QN_STORAGE(e, s, ctype, kind)                 \
  case DType::e:                                      \
    y.mutable_data<ctype>()[i] = qn_put_##s##_f32(v); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}
void put(Tensor& y, int64_t i, DType to, double v) {
  switch (to) {
#define QN_STORAGE(e, s, ctype, kind)                 \
  case DType::e:                                      \
    y.mutable_data<ctype>()[i] = qn_put_##s##_f64(v); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}
void put(Tensor& y, int64_t i, DType to, int64_t v) {
  switch (to) {
#define QN_STORAGE(e, s, ctype, kind)                 \
  case DType::e:                                      \
    y.mutable_data<ctype>()[i] = qn_put_##s##_i64(v); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}
void put(Tensor& y, int64_t i, DType to, uint64_t v) {
  switch (to) {
#define QN_STORAGE(e, s, ctype, kind)                 \
  case DType::e:                                      \
    y.mutable_data<ctype>()[i] = qn_put_##s##_u64(v); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}

int round_mode(const std::string& round) {
  return round == "down" ? QN_ROUND_DOWN : round == "nearest" ? QN_ROUND_NEAREST : QN_ROUND_UP;
}

uint8_t put_mode(double v, DType to, int saturate, int mode) {
  switch (to) {
    case DType::f8e4m3:
      return qn_f8e4m3_from_f64(v, saturate);
    case DType::f8e5m2:
      return qn_f8e5m2_from_f64(v, saturate);
    case DType::f8e4m3fnuz:
      return qn_f8e4m3fnuz_from_f64(v, saturate);
    case DType::f8e5m2fnuz:
      return qn_f8e5m2fnuz_from_f64(v, saturate);
    default:
      return qn_f8e8m0_from_f64(v, saturate, mode);
  }
}

bool is_float8(DType d) { return is_float(d) && bits(d) == 8; }

}  // namespace

const OpInfo Cast::kInfo = {
    .name = "cast",
    .traits = kElementwise | kAnyLayout,
    .summary = "converts every element to another type",
};

bool Cast::has_mode() const {
  return is_float8(to) && (!saturate || (to == DType::f8e8m0 && round != "up"));
}

Result<std::vector<Type>> Cast::infer() const {
  const Type& x = input_type(0);
  if (round != "up" && round != "down" && round != "nearest") {
    return error(Code::attribute, loc(), "round is '{}', expected up, down or nearest", round);
  }
  if (has_mode() && !(is_float(x.dtype) && bits(x.dtype) >= 16)) {
    return error(Code::unsupported, loc(), "cast of {} to {} without saturation", name(x.dtype),
                 name(to));
  }
  Type y = x;
  y.dtype = to;
  y.format = nullptr;
  return std::vector<Type>{y};
}

std::optional<Dims> Cast::contents() const {
  if (is_float(input_type(0).dtype) || !is_integer(to)) return std::nullopt;
  return known_ints(input(0));
}

std::optional<IndexFormula> Cast::formula(const FormulaOperands& in) const {
  if (!in[0]) return std::nullopt;
  const bool truth = to == DType::boolean;
  if (truth == in[0]->is_truth) return *in[0];
  const std::optional<int64_t> known = in[0]->known();
  const size_t rank = output()->shape().size();
  if (!known) return std::nullopt;
  return truth ? IndexFormula::truth(*known != 0, rank) : IndexFormula::number(Dim(*known), rank);
}

Result<Ok> Cast::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const int64_t n = x.size();
  if (has_mode()) {
    uint8_t* out = y.mutable_data<uint8_t>();
    for (int64_t i = 0; i < n; ++i)
      out[i] = put_mode(x.as_double(i), to, saturate, round_mode(round));
    return Ok{};
  }
  switch (x.dtype()) {
#define QN_STORAGE(e, s, ctype, kind)                                                    \
  case DType::e:                                                                         \
    for (int64_t i = 0; i < n; ++i) put(y, i, to, kind{qn_get_##s(x.data<ctype>()[i])}); \
    break;
#include "kernels/numerics/storage_types.inc"
  }
  return Ok{};
}

Result<Ok> Cast::lower(Lowering& l) const {
  const DType from = l.in_type(0).dtype;
  QC_ASSIGN(const Dim n, l.param(product(l.out_type().shape)));
  const auto emit = [&](auto c) {
    c.n = n;
    c.from = name(from);
    c.to = name(to);
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c);
  };
  if (has_mode()) {
    kernel::CastMode c;
    c.saturate = saturate;
    c.round = round_mode(round);
    emit(c);
  } else {
    emit(kernel::Cast());
  }
  return Ok{};
}

const OpInfo BitCast::kInfo = {
    .name = "bit_cast",
    .traits = kElementwise | kAnyLayout,
    .summary = "the same bits read as another type of equal width",
};

Result<std::vector<Type>> BitCast::infer() const {
  const Type& x = input_type(0);
  if (bits(x.dtype) != bits(to)) {
    return error(Code::type, loc(), "{} has {} bits and {} has {}", name(x.dtype), bits(x.dtype),
                 name(to), bits(to));
  }
  Type y = x;
  y.dtype = to;
  y.format = nullptr;
  return std::vector<Type>{y};
}

Result<Ok> BitCast::eval(EvalContext& c) const {
  const auto from = c.in(0).bytes();
  if (!from.empty()) std::memcpy(c.out(0).mutable_bytes().data(), from.data(), from.size());
  return Ok{};
}

Result<Ok> BitCast::lower(Lowering& l) const {
  QC_ASSIGN(const Dim n, l.param(product(l.out_type().shape)));
  // A copy, not an alias: C may not read an object through another type.
  l.copy(l.in(0), l.out(), n * Dim(static_cast<int64_t>(bytes(to))));
  return Ok{};
}

const OpInfo BitView::kInfo = {
    .name = "bit_view",
    .summary = "the same bytes read as another type, along the last axis",
};

Result<std::vector<Type>> BitView::infer() const {
  const Type& x = input_type(0);
  const int64_t from = bits(x.dtype), width = bits(to);
  if (from < 8 || width < 8)
    return error(Code::unsupported, loc(), "bytes of {} as {}", name(x.dtype), name(to));
  if (x.shape.empty()) return error(Code::shape, loc(), "one {} as {}", name(x.dtype), name(to));
  Dims shape = x.shape;
  const Dim bytes = shape.back() * Dim(from / 8);
  if (differ(mod(bytes, Dim(width / 8)), 0)) {
    return error(Code::shape, loc(), "rows of {} bytes as {}", bytes.str(), name(to));
  }
  shape.back() = floordiv(bytes, Dim(width / 8));
  return std::vector<Type>{Type(to, shape)};
}

Result<Ok> BitView::eval(EvalContext& c) const {
  const auto from = c.in(0).bytes();
  if (!from.empty()) std::memcpy(c.out(0).mutable_bytes().data(), from.data(), from.size());
  return Ok{};
}

Result<Ok> BitView::lower(Lowering& l) const {
  QC_ASSIGN(const Dim n, l.param(product(l.out_type().shape)));
  l.copy(l.in(0), l.out(), n * Dim(static_cast<int64_t>(bytes(to))));
  return Ok{};
}

}  // namespace qc
