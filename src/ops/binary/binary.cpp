#include "ops/binary/binary.h"

#include <cstring>
#include <deque>

#include "interp/eval.h"
#include "kernels/binary/calls.h"
#include "kernels/compare/calls.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/binary/qbinary.h"
#include "ops/common/broadcast.h"
#include "ops/common/dispatch.h"
#include "ops/common/limits.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {
namespace {

constexpr BinaryFunction kBinaryFunctions[] = {
#define QC_FLOATS(op, field) .f32 = {.field = qn_##op##_f32}, .f64 = {.field = qn_##op##_f64}
#define QC_INTS(op, field)                                                                         \
  .i8 = {.field = qn_##op##_i8}, .i16 = {.field = qn_##op##_i16}, .i32 = {.field = qn_##op##_i32}, \
  .i64 = {.field = qn_##op##_i64}, .u8 = {.field = qn_##op##_u8}, .u16 = {.field = qn_##op##_u16}, \
  .u32 = {.field = qn_##op##_u32}, .u64 = {.field = qn_##op##_u64}
#define QN_BINARY(op) {.name = #op, QC_FLOATS(op, compute), QC_INTS(op, compute)},
#define QN_BINARY_F(op) {.name = #op, QC_FLOATS(op, compute)},
#define QN_BINARY_I(op) {.name = #op, QC_INTS(op, compute)},
#define QN_COMPARE(op) {.name = #op, QC_FLOATS(op, compare), QC_INTS(op, compare)},
#define QN_LOGICAL(op) {.name = #op, .boolean = qn_##op##_bool},
#include "kernels/numerics/scalar_ops.inc"
#undef QC_FLOATS
#undef QC_INTS
};

/// Ops whose operands may be swapped without changing a bit: max and min are not, for signed zeros.
bool commutes(std::string_view name) {
  for (std::string_view n :
       {"add", "mul", "bit_and", "bit_or", "bit_xor", "eq", "ne", "and", "or", "xor"}) {
    if (n == name) return true;
  }
  return false;
}

/// Ops that give one of their operands.
bool orders(std::string_view name) { return name == "max" || name == "min"; }

const std::deque<BinaryOp>& binary_ops() {
  static const std::deque<BinaryOp> ops = [] {
    std::deque<BinaryOp> out;
    for (const BinaryFunction& f : kBinaryFunctions) {
      BinaryOp& op = out.emplace_back();
      op.function = f;
      op.name = (f.is_logical() ? "logical_" : "") + std::string(f.name);
      op.summary = op.name + " of two operands, with broadcasting";
      op.takes_limits = op.name == "add" || op.name == "sub" || op.name == "mul";
      uint32_t traits = kElementwise | kBroadcasts | kAnyLayout;
      if (commutes(f.name)) traits |= kCommutative;
      if (orders(f.name)) traits |= kOnCodes;
      if (!op.takes_limits && !orders(f.name)) traits |= kQuantizedInFloat;
      op.info = {.name = op.name,
                 .min_inputs = 2,
                 .max_inputs = 2,
                 .traits = traits,
                 .summary = op.summary};
    }
    return out;
  }();
  return ops;
}

bool takes(const BinaryFunction& f, DType dtype) {
  if (dtype == DType::boolean) return f.is_logical() || f.is_compare();
  if (f.is_logical() || bits(dtype) < 8) return false;
  if (is_float(dtype)) return bits(dtype) >= 16 && (f.f32.compute || f.is_compare());
  return f.i8.compute || f.is_compare();
}

/// Bool elements are bytes of 0 or 1 and compare as such.
DType computed_as(DType dtype) { return dtype == DType::boolean ? DType::u8 : dtype; }

std::optional<Dim> combine(std::string_view op, const Dim& a, const Dim& b) {
  const bool numbers = a.is_static() && b.is_static();
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "max") return max(a, b);
  if (op == "min") return min(a, b);
  // Sizes are not negative, so division rounds down either way; with numbers the sign is seen.
  if (op == "div" || op == "floor_div" || op == "mod" || op == "fmod") {
    if (!b.is_static() || b.value() <= 0 || (a.is_static() && a.value() < 0)) return std::nullopt;
    return op == "div" || op == "floor_div" ? floordiv(a, b) : mod(a, b);
  }
  if (op == "eq" && a == b) return Dim(1);
  if (op == "ne" && a == b) return Dim(0);
  if (!numbers) return std::nullopt;
  const int64_t x = a.value(), y = b.value();
  if (op == "eq") return Dim(x == y);
  if (op == "ne") return Dim(x != y);
  if (op == "lt") return Dim(x < y);
  if (op == "le") return Dim(x <= y);
  if (op == "gt") return Dim(x > y);
  if (op == "ge") return Dim(x >= y);
  if (op == "and") return Dim(x && y);
  if (op == "or") return Dim(x || y);
  return std::nullopt;
}

}  // namespace

Result<std::vector<Type>> Binary::infer() const {
  const Type &a = input_type(0), &b = input_type(1);
  if (a.dtype != b.dtype) {
    return error(Code::type, loc(), "{} of {} and {} values, expected one type", op(),
                 name(a.dtype), name(b.dtype));
  }
  if (!takes(op_->function, a.dtype)) {
    return error(Code::type, loc(), "{} of {} values", op(), name(a.dtype));
  }
  if (!(lo <= hi)) return error(Code::attribute, loc(), "lower limit {} is above {}", lo, hi);
  if (is_limited() && a.dtype != DType::f32) {
    return error(Code::type, loc(), "limited {} of {} values, expected f32", op(), name(a.dtype));
  }
  const Type* const operands[] = {&a, &b};
  QC_ASSIGN(Type y,
            broadcast_type(op_->function.is_compare() ? DType::boolean : a.dtype, operands, loc()));
  if (info().has(kOnCodes)) y.format = common_format(operands);
  return std::vector<Type>{y};
}

std::optional<Dims> Binary::contents() const {
  if (is_float(input_type(0).dtype)) return std::nullopt;
  const auto a = known_ints(input(0)), b = known_ints(input(1));
  if (!a || !b || input(0)->rank() > 1 || input(1)->rank() > 1) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  Dims out(a->size() == 1 ? b->size() : a->size());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto v =
        combine(op_->function.name, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!v) return std::nullopt;
    out[i] = *v;
  }
  return out;
}

Result<std::optional<ScaleShift>> Binary::scale_shift(Graph& graph, int64_t axis) const {
  using Found = std::optional<ScaleShift>;
  const std::string_view f = op_->function.name;
  const bool adds = f == "add", subtracts = f == "sub", multiplies = f == "mul";
  if (!(adds || subtracts || multiplies) || input_type(0).dtype != DType::f32 || is_limited()) {
    return Found{};
  }
  const size_t constant = input(1)->is_constant() || subtracts ? 1 : 0;
  ScaleShift out;
  out.x = input(1 - constant);
  if (out.x->is_constant()) return Found{};
  QC_ASSIGN(auto values, per_channel(graph, input(constant), output()->shape(), axis));
  if (!values) return Found{};
  out.axis = axis;
  (multiplies ? out.scale : out.shift) = *values;
  if (subtracts) {
    const std::vector<float> minus(static_cast<size_t>((*values)->shape()[0].value()), -1.0f);
    Value* sign =
        graph.constant(Tensor::of<float>(DType::f32, static_dims((*values)->shape()), minus));
    out.shift = record_scaled(graph, *values, 0, sign);
  }
  return Found{out};
}

bool Binary::absorb_clamp(IsClamp::Limits limits) {
  if (!op_->takes_limits || input_type(0).dtype != DType::f32) return false;
  return absorb_limits(DType::f32, limits, lo, hi);
}

Result<Ok> Binary::eval(EvalContext& c) const {
  const BinaryFunction& f = op_->function;
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& y = c.out(0);
  const Type ta(a.dtype(), to_dims(a.shape())), tb(b.dtype(), to_dims(b.shape()));
  const Type* const operands[] = {&ta, &tb};
  const BroadcastPlan plan = plan_broadcast(Type(y.dtype(), to_dims(y.shape())), operands);
  if (f.is_logical()) {
    const uint8_t *pa = a.data<uint8_t>(), *pb = b.data<uint8_t>();
    uint8_t* out = y.mutable_data<uint8_t>();
    for_each_offset(
        plan, [&](int64_t i, const int64_t* at) { out[i] = f.boolean(pa[at[0]], pb[at[1]]); });
    return Ok{};
  }
  if (is_limited()) {
    const float lower = static_cast<float>(lo), upper = static_cast<float>(hi);
    for_each_offset(plan, [&](int64_t i, const int64_t* at) {
      const float v = f.f32.compute(a.data<float>()[at[0]], b.data<float>()[at[1]]);
      y.mutable_data<float>()[i] = qn_clamp_f32(v, lower, upper);
    });
    return Ok{};
  }
  return for_arithmetic_type(computed_as(a.dtype()), loc(), [&](auto type) {
    using E = decltype(type);
    const auto& fn = entry_for<typename E::Element>(f);
    if (fn.compare) {
      uint8_t* out = y.mutable_data<uint8_t>();
      for_each_offset(plan, [&](int64_t i, const int64_t* at) {
        out[i] = fn.compare(E::load(a, at[0]), E::load(b, at[1]));
      });
    } else {
      for_each_offset(plan, [&](int64_t i, const int64_t* at) {
        E::store(y, i, fn.compute(E::load(a, at[0]), E::load(b, at[1])));
      });
    }
  });
}

Result<Ok> Binary::lower(Lowering& l) const {
  const BinaryFunction& f = op_->function;
  const Type* const operands[] = {&l.in_type(0), &l.in_type(1)};
  QC_ASSIGN(const BroadcastPlan plan, plan_broadcast(l, operands));
  CallInfo info;
  for (int i = 0; i < 2 && !f.is_compare(); ++i) {
    if (plan.is_flat(static_cast<size_t>(i))) info.in_place.push_back({i, 0});
  }
  const auto emit = [&](auto c) -> Result<Ok> {
    Dim* const strides[] = {c.a, c.b};
    QC_TRY(fill_loops(l, plan, c.rank, c.dims, strides));
    c.op = f.name;
    c.lhs = l.in(0);
    c.rhs = l.in(1);
    c.y = l.out();
    l.emit(c, info);
    return Ok{};
  };
  if (is_limited()) {
    kernel::BinaryClamp c;
    c.lo = static_cast<float>(lo);
    c.hi = static_cast<float>(hi);
    return emit(c);
  }
  std::string type = "bool";
  if (!f.is_logical()) {
    QC_ASSIGN(type, arithmetic_suffix(computed_as(l.in_type(0).dtype), loc()));
  }
  if (f.is_logical() || f.is_compare()) {
    kernel::Compare c;
    c.type = type;
    return emit(c);
  }
  kernel::Binary c;
  c.type = type;
  return emit(c);
}

void register_binary(Registration& r) {
  for (const QBinaryOp& op : qbinary_ops()) {
    r.op(&op.info, [p = &op] { return std::unique_ptr<Node>(std::make_unique<QBinary>(p)); });
  }
  for (const BinaryOp& op : binary_ops()) {
    r.op(&op.info, [p = &op] { return std::unique_ptr<Node>(std::make_unique<Binary>(p)); });
  }
  r.imports(binary_onnx_rows());
  r.imports(binary_aten_rows());
}

}  // namespace qc
