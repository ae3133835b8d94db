#include <cstring>

#include "interp/eval.h"
#include "ir/index_formula.h"
#include "kernels/where/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

/// y = condition ? a : b with broadcasting of all three; a and b of any one type.
class Where final : public OpNode<Where>, public HasFormula, public PicksByTruth {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }

  Result<std::vector<Type>> infer() const override {
    const Type &c = input_type(0), &a = input_type(1), &b = input_type(2);
    if (c.dtype != DType::boolean) {
      return error(Code::type, loc(), "the condition is {}, expected bool", name(c.dtype));
    }
    if (a.dtype != b.dtype) {
      return error(Code::type, loc(), "where of {} and {} values, expected one type", name(a.dtype),
                   name(b.dtype));
    }
    const Type* const operands[] = {&c, &a, &b};
    QC_ASSIGN(Type y, broadcast_type(a.dtype, operands, loc()));
    y.format = common_format(std::span(operands).subspan(1));
    return std::vector<Type>{y};
  }

  std::optional<Dims> contents() const override {
    if (!is_integer(input_type(1).dtype)) return std::nullopt;
    std::optional<Dims> parts[3];
    size_t n = 1;
    for (size_t i = 0; i < 3; ++i) {
      parts[i] = known_ints(input(i));
      if (!parts[i] || input(i)->rank() > 1) return std::nullopt;
      if (parts[i]->size() != 1) n = parts[i]->size();
    }
    Dims out(n);
    for (size_t i = 0; i < n; ++i) {
      const Dim& c = (*parts[0])[parts[0]->size() == 1 ? 0 : i];
      if (!c.is_static()) return std::nullopt;
      const Dims& from = *parts[c.value() != 0 ? 1 : 2];
      out[i] = from[from.size() == 1 ? 0 : i];
    }
    return out;
  }

  size_t picked(bool truth) const override { return truth ? 1 : 2; }
  /// Of the operand that the condition takes everywhere.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    const std::optional<int64_t> condition = in[0] ? in[0]->known() : std::nullopt;
    if (!condition) return std::nullopt;
    const size_t taken = picked(*condition != 0);
    return in.broadcast(taken, input_type(taken).shape, output()->shape());
  }

  Result<Ok> eval(EvalContext& c) const override {
    Tensor& y = c.out(0);
    Type types[3];
    const Type* operands[3];
    for (size_t i = 0; i < 3; ++i) {
      types[i] = Type(c.in(i).dtype(), to_dims(c.in(i).shape()));
      operands[i] = &types[i];
    }
    const BroadcastPlan plan = plan_broadcast(Type(y.dtype(), to_dims(y.shape())), operands);
    const auto* condition = c.in(0).data<uint8_t>();
    const std::byte *a = c.in(1).bytes().data(), *b = c.in(2).bytes().data();
    std::byte* out = y.mutable_bytes().data();
    const auto size = static_cast<int64_t>(bytes(y.dtype()));
    for_each_offset(plan, [&](int64_t i, const int64_t* at) {
      const std::byte* from = condition[at[0]] ? a + at[1] * size : b + at[2] * size;
      std::memcpy(out + i * size, from, static_cast<size_t>(size));
    });
    return Ok{};
  }

  Result<Ok> lower(Lowering& l) const override {
    const Type* const operands[] = {&l.in_type(0), &l.in_type(1), &l.in_type(2)};
    QC_ASSIGN(const BroadcastPlan plan, plan_broadcast(l, operands));
    kernel::Where params;
    Dim* const strides[] = {params.c, params.a, params.b};
    QC_TRY(fill_loops(l, plan, params.rank, params.dims, strides));
    const DType type = l.out_type().dtype;
    const bool plain_float = type == DType::f32 || type == DType::f64;
    params.type = plain_float ? std::string(name(type)) : "u" + std::to_string(8 * bytes(type));
    CallInfo info;
    for (int i = 1; i < 3; ++i) {
      if (plan.is_flat(static_cast<size_t>(i))) info.in_place.push_back({i, 0});
    }
    params.condition = l.in(0);
    params.yes = l.in(1);
    params.no = l.in(2);
    params.y = l.out();
    l.emit(params, info);
    return Ok{};
  }
};

const OpInfo Where::kInfo = {
    .name = "where",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kElementwise | kBroadcasts | kAnyLayout | kOnCodes,
    .summary = "takes the second operand where the first is true, else the third",
};

namespace {

Result<Values> onnx_where(Import& m) { return one(m.emit("where", {m.in(0), m.in(1), m.in(2)})); }

Result<Values> aten_where(Import& m) {
  QC_ASSIGN(Value * condition, m.tensor("condition"));
  QC_ASSIGN(condition, m.cast(condition, DType::boolean));
  QC_ASSIGN(auto ab, m.promoted("self", "other"));
  return one(m.emit("where", {condition, ab.first, ab.second}));
}

Result<Values> aten_masked_fill(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * mask, m.tensor("mask"));
  QC_ASSIGN(mask, m.cast(mask, DType::boolean));
  QC_ASSIGN(Value * value, m.tensor_as("value", x->dtype()));
  return one(m.emit("where", {mask, value, x}));
}

constexpr ImportRow kRows[] = {
    {"", "Where", onnx_where},
    {"aten", "where.self", aten_where},
    {"aten", "where.ScalarSelf", aten_where},
    {"aten", "where.ScalarOther", aten_where},
    {"aten", "where.Scalar", aten_where},
    {"aten", "masked_fill.Scalar", aten_masked_fill},
    {"aten", "masked_fill.Tensor", aten_masked_fill},
};

}  // namespace

void register_where(Registration& r) {
  r.op<Where>();
  r.imports(kRows);
}

}  // namespace qc
