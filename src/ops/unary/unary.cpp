#include "ops/unary/unary.h"

#include <deque>

#include "interp/eval.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/unary/calls.h"
#include "ops/activation/activation.h"
#include "ops/common/broadcast.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {
namespace {

constexpr UnaryFunction kUnaryFunctions[] = {
#define QN_UNARY_F(op) {.name = #op, .f32 = qn_##op##_f32, .f64 = qn_##op##_f64},
#define QC_INT_FUNCTIONS(op)                                                            \
  .i8 = qn_##op##_i8, .i16 = qn_##op##_i16, .i32 = qn_##op##_i32, .i64 = qn_##op##_i64, \
  .u8 = qn_##op##_u8, .u16 = qn_##op##_u16, .u32 = qn_##op##_u32, .u64 = qn_##op##_u64
#define QN_UNARY(op) \
  {.name = #op, .f32 = qn_##op##_f32, .f64 = qn_##op##_f64, QC_INT_FUNCTIONS(op)},
#define QN_UNARY_I(op) {.name = #op, QC_INT_FUNCTIONS(op)},
#define QN_UNARY_P(op, p, q) \
  {.name = #op, .scaled_f32 = qn_##op##_f32, .scaled_f64 = qn_##op##_f64, .a = #p, .b = #q},
#define QN_PREDICATE(op) {.name = #op, .test_f32 = qn_##op##_f32, .test_f64 = qn_##op##_f64},
#include "kernels/numerics/scalar_ops.inc"
#undef QC_INT_FUNCTIONS
};

/// Defaults of parameters; ops not listed have none.
constexpr struct {
  std::string_view name;
  double a, b;
} kDefaults[] = {
    {"leaky_relu", 0.01, 0},
    {"elu", 1, 0},
    {"celu", 1, 0},
    {"selu", 1.6732632423543772, 1.0507009873554805},
    {"hard_sigmoid", 1.0 / 6.0, 0.5},
    {"thresholded_relu", 1, 0},
    {"shrink", 0.5, 0},
    {"swish", 1, 0},
    {"softplus_beta", 1, 20},
    {"scaled_tanh", 1, 1},
    {"affine", 1, 0},
    {"logit", -1, 0},
};

/// clamp is an op of its own, and relu is one of its spellings.
bool is_listed_elsewhere(std::string_view name) { return name == "clamp" || name == "relu"; }

const std::deque<UnaryOp>& unary_ops() {
  static const std::deque<UnaryOp> ops = [] {
    std::deque<UnaryOp> out;
    for (const UnaryFunction& f : kUnaryFunctions) {
      if (is_listed_elsewhere(f.name)) continue;
      UnaryOp& op = out.emplace_back();
      op.function = f;
      op.summary = std::string(f.name) + " of every element";
      op.info = {.name = f.name, .traits = kElementwise | kAnyLayout, .summary = op.summary};
      for (const auto& d : kDefaults) {
        if (d.name == f.name) op.a = d.a, op.b = d.b;
      }
    }
    return out;
  }();
  return ops;
}

bool takes(const UnaryFunction& f, DType dtype) {
  if (dtype == DType::boolean || bits(dtype) < 8) return false;
  if (is_float(dtype)) return bits(dtype) >= 16 && (f.f32 || f.is_scaled() || f.is_test());
  return f.i8 != nullptr;
}

}  // namespace

void Unary::attrs(AttrVisitor& v) {
  const UnaryFunction& f = op_->function;
  if (f.a[0] != '_') v(f.a, a, op_->a);
  if (f.b[0] != '_') v(f.b, b, op_->b);
}

Result<std::vector<Type>> Unary::infer() const {
  const Type& x = input_type(0);
  if (!takes(op_->function, x.dtype)) {
    return error(Code::type, loc(), "{} of {} values", op(), name(x.dtype));
  }
  Type y = x;
  y.format = nullptr;
  if (op_->function.is_test()) y.dtype = DType::boolean;
  return std::vector<Type>{y};
}

std::optional<Dims> Unary::contents() const {
  if (op() != "neg" || !is_integer(input_type(0).dtype)) return std::nullopt;
  auto x = known_ints(input(0));
  if (!x) return std::nullopt;
  for (Dim& d : *x) d = Dim(0) - d;
  return x;
}

std::optional<IndexFormula> Unary::formula(const FormulaOperands& in) const {
  if (op() != "neg" || !in[0]) return std::nullopt;
  return IndexFormula{false, {in[0]->terms[0].times(-1)}};
}

Result<Ok> Unary::eval(EvalContext& c) const {
  const UnaryFunction& f = op_->function;
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
    using E = decltype(type);
    using T = typename E::Element;
    const int64_t n = x.size();
    if constexpr (std::is_floating_point_v<T>) {
      constexpr bool is_f32 = std::is_same_v<T, float>;
      if (f.is_scaled()) {
        const auto fn = [&] {
          if constexpr (is_f32)
            return f.scaled_f32;
          else
            return f.scaled_f64;
        }();
        const T p = static_cast<T>(a), q = static_cast<T>(b);
        for (int64_t i = 0; i < n; ++i) E::store(y, i, fn(E::load(x, i), p, q));
        return;
      }
      if (f.is_test()) {
        const auto fn = [&] {
          if constexpr (is_f32)
            return f.test_f32;
          else
            return f.test_f64;
        }();
        uint8_t* out = y.mutable_data<uint8_t>();
        for (int64_t i = 0; i < n; ++i) out[i] = fn(E::load(x, i)) != 0;
        return;
      }
    }
    const auto fn = entry_for<T>(f);
    for (int64_t i = 0; i < n; ++i) E::store(y, i, fn(E::load(x, i)));
  });
}

Result<Ok> Unary::lower(Lowering& l) const {
  QC_ASSIGN(const std::string type, arithmetic_suffix(l.in_type(0).dtype, loc()));
  QC_ASSIGN(const Dim n, l.param(product(l.out_type().shape)));
  CallInfo info;
  if (!op_->function.is_test()) info.in_place = {{0, 0}};
  const auto emit = [&](auto c) {
    c.n = n;
    c.op = op();
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c, info);
    return Ok{};
  };
  if (op_->function.is_scaled() && l.in_type(0).dtype == DType::f64) {
    const double factors[] = {a, b};
    kernel::UnaryScaledF64 c;
    c.factors = l.constant(Tensor::of<double>(DType::f64, {2}, factors), "parameters");
    return emit(c);
  }
  if (op_->function.is_scaled()) {
    kernel::UnaryScaled c;
    c.a = static_cast<float>(a);
    c.b = static_cast<float>(b);
    c.type = type;
    return emit(c);
  }
  kernel::Unary c;
  c.type = type;
  return emit(c);
}

Result<Node*> Unary::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                   std::string& reason) {
  return ActivationQuantize::fused(*this, epilogue, point, reason);
}

const OpInfo LogicalNot::kInfo = {
    .name = "logical_not",
    .traits = kElementwise | kAnyLayout,
    .summary = "true where the bool element is false",
};

Result<std::vector<Type>> LogicalNot::infer() const {
  const Type& x = input_type(0);
  if (x.dtype != DType::boolean) {
    return error(Code::type, loc(), "logical_not of {} values", name(x.dtype));
  }
  return std::vector<Type>{x};
}

/// Of an and of several conditions it would be an or.
std::optional<IndexFormula> LogicalNot::formula(const FormulaOperands& in) const {
  const size_t rank = output()->shape().size();
  if (!in[0] || in[0]->terms.size() > 1) return std::nullopt;
  if (in[0]->terms.empty()) return IndexFormula::truth(false, rank);
  Affine below = in[0]->terms[0].times(-1);
  below.base = below.base - Dim(1);
  return IndexFormula{true, {std::move(below)}};
}

Result<Ok> LogicalNot::eval(EvalContext& c) const {
  const uint8_t* x = c.in(0).data<uint8_t>();
  uint8_t* y = c.out(0).mutable_data<uint8_t>();
  for (int64_t i = 0; i < c.in(0).size(); ++i) y[i] = qn_not_bool(x[i]);
  return Ok{};
}

Result<Ok> LogicalNot::lower(Lowering& l) const {
  QC_ASSIGN(const Dim n, l.param(product(l.out_type().shape)));
  kernel::Unary c;
  c.n = n;
  c.op = "not";
  c.type = "bool";
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}});
  return Ok{};
}

void register_unary(Registration& r) {
  for (const UnaryOp& op : unary_ops()) {
    r.op(&op.info, [p = &op] { return std::unique_ptr<Node>(std::make_unique<Unary>(p)); });
  }
  r.op<LogicalNot>();
  r.imports(unary_onnx_rows());
  r.imports(unary_aten_rows());
  r.rewrites(unary_rewrites());
}

}  // namespace qc
