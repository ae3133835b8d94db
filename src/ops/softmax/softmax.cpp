#include "ops/softmax/softmax.h"

#include <algorithm>

#include "interp/eval.h"
#include "ir/padding.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/softmax/calls.h"
#include "ops/common/axis.h"
#include "ops/common/dispatch.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/softmax/qsoftmax.h"
#include "quant/scores.h"

namespace qc {
namespace {

const OpInfo kSoftmax = {
    .name = "softmax",
    .traits = kAnyLayout | kQuantizedInFloat,
    .summary = "exponentials along an axis divided by their sum",
};
const OpInfo kLogSoftmax = {
    .name = "log_softmax",
    .traits = kAnyLayout | kQuantizedInFloat,
    .summary = "logarithm of the softmax along an axis",
};

#define QC_SOFTMAX_ROW(T, t)                                                                \
  void softmax_row(std::vector<T>& x, bool log, int zero) {                                 \
    const auto n = std::ssize(x);                                                           \
    const T max = qn_row_max_##t(x.data(), n, 1);                                           \
    std::vector<T> e(x.size());                                                             \
    for (size_t i = 0; i < x.size(); ++i) e[i] = qn_exp_##t(x[i] - max);                    \
    const T sum = qn_sum_##t(e.data(), n, 1), log_sum = qn_log_##t(sum);                    \
    if ((zero == 1 && max == -QN_INF_F64) || (zero == 2 && sum != sum)) {                   \
      std::fill(x.begin(), x.end(), T{0});                                                  \
      return;                                                                               \
    }                                                                                       \
    for (size_t i = 0; i < x.size(); ++i) x[i] = log ? (x[i] - max) - log_sum : e[i] / sum; \
  }
QC_SOFTMAX_ROW(float, f32)
QC_SOFTMAX_ROW(double, f64)
#undef QC_SOFTMAX_ROW

}  // namespace

int32_t softmax_zero_mode(const std::string& zero) {
  return zero == "masked" ? 1 : zero == "nan" ? 2 : 0;
}

Result<Ok> softmax_rows(const Tensor& x, int64_t axis, bool log, int32_t zero, Tensor& y,
                        const Loc& loc) {
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc));
  const AxisView view(x.shape(), at);
  return for_arithmetic_type(x.dtype(), loc, [&](auto type) {
    using E = decltype(type);
    using T = typename E::Element;
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> row(static_cast<size_t>(view.n));
      view.for_each_row([&](int64_t start) {
        for (int64_t k = 0; k < view.n; ++k)
          row[static_cast<size_t>(k)] = E::load(x, start + k * view.inner);
        softmax_row(row, log, zero);
        for (int64_t k = 0; k < view.n; ++k)
          E::store(y, start + k * view.inner, row[static_cast<size_t>(k)]);
      });
    }
  });
}

Result<Ok> check_softmax(const Node& node, int64_t axis, const std::string& zero) {
  const Type& x = node.input_type(0);
  if (!is_float(x.dtype) || bits(x.dtype) < 16) {
    return error(Code::type, node.loc(), "{} of {} values", node.op(), name(x.dtype));
  }
  QC_TRY(resolve_axis(axis, x.rank(), node.loc()));
  if (zero != "none" && zero != "masked" && zero != "nan") {
    return error(Code::attribute, node.loc(), "zero is '{}', expected none, masked or nan", zero);
  }
  return Ok{};
}

/// softmax and log_softmax along one axis, in the order kernels/softmax/softmax.h states.
class Softmax final : public OpNode<Softmax>,
                      public Quantizable,
                      public ReadsNearGreatest,
                      public TakesPadding,
                      public TakesQuantizeEpilogue {
 public:
  explicit Softmax(bool log) : log_(log) {}
  int64_t axis = -1;
  /// Rows without a softmax that become zeros: "none", "masked" (all -inf) or "nan" (any NaN
  /// result).
  std::string zero = "none";

  const OpInfo& info() const override { return log_ ? kLogSoftmax : kSoftmax; }
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    if (!log_) v("zero", zero, std::string("none"));
  }

  /// Elements of minus infinity add nothing to a sum of exponentials.
  Result<Ok> pad(PaddedNode& c) override {
    const int64_t at = c.resolved(axis);
    if (c.is_padded(0, at)) QC_TRY(c.fill(0, at, Fill::lowest));
    c.set_result(c.padding(0));
    return Ok{};
  }
  Result<std::vector<Type>> infer() const override {
    QC_TRY(check_softmax(*this, axis, zero));
    Type y = input_type(0);
    y.format = nullptr;
    return std::vector<Type>{y};
  }

  /// The logarithm tells small probabilities apart.
  std::optional<int64_t> row_axis() const override {
    return log_ ? std::nullopt : std::optional<int64_t>(axis < 0 ? axis + input(0)->rank() : axis);
  }

  /// Of softmax under an arithmetic that says so: qsoftmax. Else it computes in f32.
  Result<Value*> quantized(Quantizer& q) const override;

  Result<Ok> eval(EvalContext& c) const override {
    return softmax_rows(c.in(0), axis, log_, softmax_zero_mode(zero), c.out(0), loc());
  }
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;

  Result<Ok> lower(Lowering& l) const override {
    const Type& x = l.in_type(0);
    QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
    const AxisDims view(l.in_dims(0), physical_axis(x, at));
    QC_TRY(l.param(view.outer * view.n * view.inner));
    kernel::Softmax c;
    c.outer = view.outer;
    c.n = view.n;
    c.inner = view.inner;
    c.zero = softmax_zero_mode(zero);
    c.op = log_ ? "log_softmax" : "softmax";
    c.type = name(x.dtype);
    c.x = l.in(0);
    c.y = l.out();
    CallInfo info;
    if (!log_) info.in_place = {{0, 0}};
    l.emit(c, info);
    return Ok{};
  }

 private:
  bool log_;
};

Result<Node*> Softmax::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                     std::string& reason) {
  if (log_ || epilogue.floats || input_type(0).dtype != DType::f32) {
    reason = log_ ? "it is a logarithm" : epilogue.floats ? kReadAsFloats : "it is not f32";
    return static_cast<Node*>(nullptr);
  }
  auto fused = std::make_unique<SoftmaxQuantize>(epilogue.dynamic);
  fused->axis = axis;
  fused->zero = zero;
  fused->epilogue = epilogue;
  return point.graph.add(std::move(fused), {input(0)}, point.loc, point.before);
}

Result<Value*> Softmax::quantized(Quantizer& q) const {
  if (log_ || zero != "none" || q.arithmetic().softmax != Arithmetic::Softmax::onnxruntime) {
    return q.refuse("computes in f32");
  }
  if (!q.codes(0) || !q.result() || !QSoftmax::fits(q.codes(0)->type().quant(), *q.result())) {
    return q.refuse("the table of exponentials is for one type of 8-bit codes");
  }
  return q.emit(QSoftmax::kInfo.name, {q.codes(0)},
                {{"to", *q.result()}, {"arithmetic", str(q.arithmetic())}, {"axis", axis}});
}

namespace {

/// Runs `body` on the value as versions below 13 see it: everything from the axis on is one row.
template <class F>
Result<Values> with_onnx_axis(const Import& m, F&& body) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(int64_t axis, m.i("axis", m.version() >= 13 ? -1 : 1));
  if (m.version() < 13 && axis == x->rank()) axis = x->rank() - 1;
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  if (m.version() >= 13 || axis == x->rank() - 1) return one(body(x, axis));
  const Dims shape = x->shape();
  const Dims rows(shape.begin(), shape.begin() + axis), columns(shape.begin() + axis, shape.end());
  QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", Dims{product(rows), product(columns)}}}));
  QC_ASSIGN(Value * y, body(x, int64_t{1}));
  return one(m.emit("reshape", {y}, {{"shape", shape}}));
}

template <OpName kName>
Result<Values> onnx_softmax(Import& m) {
  return with_onnx_axis(m, [&](Value* x, int64_t axis) {
    return m.emit(kName.text, {x}, {{"axis", axis}});
  });
}

/// 1 at the first largest element of each row, else 0.
Result<Values> onnx_hardmax(Import& m) {
  return with_onnx_axis(m, [&](Value* x, int64_t axis) -> Result<Value*> {
    const Dim& n = x->shape()[static_cast<size_t>(axis)];
    if (!n.is_static())
      return m.fail(Code::dim, "axis {} has a symbolic size; bind it with --dim", axis);
    if (n == Dim(0)) return x;
    Dims shape(static_cast<size_t>(x->rank() - axis), Dim(1));
    shape[0] = n;
    QC_ASSIGN(Value * positions,
              m.emit("iota", {},
                     {{"start", Dim(0)}, {"step", Dim(1)}, {"size", n}, {"dtype", DType::i64}}));
    QC_ASSIGN(positions, m.emit("reshape", {positions}, {{"shape", shape}}));
    QC_ASSIGN(Value * best, m.emit("argmax", {x}, {{"axis", axis}}));
    QC_ASSIGN(Value * hit, m.emit("eq", {best, positions}));
    return m.cast(hit, x->dtype());
  });
}

/// A rank-0 tensor is a row of one.
Result<Value*> aten_row(const Import& m, const char* op, AttrMap attrs = {}) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", -1));
  QC_ASSIGN(axis, resolve_axis(axis, std::max<int64_t>(x->rank(), 1), m.loc()));
  QC_ASSIGN(const bool to_float, m.b("half_to_float", false));
  QC_ASSIGN(const DType type, m.dtype("dtype", to_float ? DType::f32 : x->dtype()));
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(x, as_float(m, x));
  attrs["axis"] = axis;
  if (x->rank() > 0) return m.emit(op, {x}, attrs);
  QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", Dims{1}}}));
  QC_ASSIGN(x, m.emit(op, {x}, attrs));
  return m.emit("reshape", {x}, {{"shape", Dims{}}});
}
template <OpName kName>
Result<Values> aten_softmax(Import& m) {
  return one(aten_row(m, kName.text));
}

Result<Values> aten_safe_softmax(Import& m) {
  return one(aten_row(m, "softmax", {{"zero", std::string("masked")}}));
}

constexpr ImportRow kRows[] = {
    {"", "Softmax", onnx_softmax<"softmax">},
    {"", "LogSoftmax", onnx_softmax<"log_softmax">},
    {"", "Hardmax", onnx_hardmax},
    {"aten", "softmax.int", aten_softmax<"softmax">},
    {"aten", "_softmax.default", aten_softmax<"softmax">},
    {"aten", "special_softmax.default", aten_softmax<"softmax">},
    {"aten", "log_softmax.int", aten_softmax<"log_softmax">},
    {"aten", "_log_softmax.default", aten_softmax<"log_softmax">},
    {"aten", "special_log_softmax.default", aten_softmax<"log_softmax">},
    {"aten", "_safe_softmax.default", aten_safe_softmax},
};

}  // namespace

std::span<const Rewrite> softmax_rewrites();

void register_softmax(Registration& r) {
  r.op<QSoftmax>();
  r.op(&SoftmaxQuantize::kStatic, [] { return std::make_unique<SoftmaxQuantize>(false); });
  r.op(&SoftmaxQuantize::kDynamic, [] { return std::make_unique<SoftmaxQuantize>(true); });
  r.op(&kSoftmax, [] { return std::unique_ptr<Node>(std::make_unique<Softmax>(false)); });
  r.op(&kLogSoftmax, [] { return std::unique_ptr<Node>(std::make_unique<Softmax>(true)); });
  r.imports(kRows);
  r.rewrites(softmax_rewrites());
}

}  // namespace qc
