#include <variant>

#include "interp/eval.h"
#include "ir/index_formula.h"
#include "ir/padding.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/scan/calls.h"
#include "ops/common/axis.h"
#include "ops/common/chain.h"
#include "ops/common/dispatch.h"
#include "ops/common/importing.h"
#include "ops/common/nan.h"
#include "ops/common/rank0.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"

namespace qc {
namespace {

const OpInfo kCumSum = {
    .name = "cumsum", .traits = kQuantizedInFloat, .summary = "running sums along an axis"};
const OpInfo kCumProd = {
    .name = "cumprod", .traits = kQuantizedInFloat, .summary = "running products along an axis"};
const OpInfo kCumMax = {.name = "cummax",
                        .outputs = 2,
                        .traits = kOnCodes,
                        .summary = "largest element so far, and its position"};
const OpInfo kCumMin = {.name = "cummin",
                        .outputs = 2,
                        .traits = kOnCodes,
                        .summary = "smallest element so far, and its position"};

float times(float a, float b) { return qn_mulf(a, b); }
double times(double a, double b) { return qn_mul(a, b); }
template <class T>
T times(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class T>
T plus(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// The result of a row so far, in the order kernels/scan/scan.h states.
template <class T>
class Running {
 public:
  explicit Running(bool sums) : sums_(sums), value_(static_cast<T>(sums ? 0 : 1)) {}
  T value() const { return value_; }
  void take(T v) {
    if (!sums_) {
      value_ = times(value_, v);
    } else if constexpr (std::is_floating_point_v<T>) {
      chain_.add(v);
      value_ = chain_.sum();
    } else {
      value_ = plus(value_, v);
    }
  }

 private:
  bool sums_;
  T value_;
  std::conditional_t<std::is_floating_point_v<T>, Chain<T>, std::monostate> chain_;
};

Result<Ok> check_type(const Node& node) {
  const DType d = node.input_type(0).dtype;
  if (d != DType::boolean && bits(d) >= 8 && !(is_float(d) && bits(d) == 8)) return Ok{};
  return error(Code::type, node.loc(), "{} of {} values", node.op(), name(d));
}

}  // namespace

/// cumsum and cumprod, in the order kernels/scan/scan.h states.
class Scan final : public OpNode<Scan>, public HasFormula, public TakesPadding {
 public:
  explicit Scan(bool sums) : sums_(sums) {}
  int64_t axis = 0;
  bool exclusive = false, reverse = false;

  const OpInfo& info() const override { return sums_ ? kCumSum : kCumProd; }
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    v("exclusive", exclusive, false);
    v("reverse", reverse, false);
  }
  /// Sums of a number grow evenly.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    const std::optional<int64_t> each = in[0] ? in[0]->known() : std::nullopt;
    if (!each || !sums_ || (*each != 0 && (exclusive || reverse))) return std::nullopt;
    IndexFormula out = IndexFormula::number(Dim(*each), output()->shape().size());
    if (output()->rank() > 0)
      out.terms[0].step[static_cast<size_t>(axis < 0 ? axis + output()->rank() : axis)] = *each;
    return out;
  }
  /// A running result depends on what comes before it only.
  Result<Ok> pad(PaddedNode& c) override {
    const int64_t at = c.resolved(axis);
    if (reverse || c.parts(0, at).size() > 1) return c.except(axis);
    c.set_result(c.padding(0));
    return Ok{};
  }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    QC_TRY(check_type(*this));
    QC_TRY(resolve_axis(axis, x.rank(), loc()));
    return std::vector<Type>{Type(x.dtype, x.shape)};
  }
  Result<Ok> eval(EvalContext& c) const override {
    const Tensor& x = c.in(0);
    QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
    const AxisView view(x.shape(), at);
    return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
      using E = decltype(type);
      using T = typename E::Element;
      view.for_each_row([&](int64_t start) {
        Running<T> running(sums_);
        for (int64_t k = 0; k < view.n; ++k) {
          const int64_t i = start + (reverse ? view.n - 1 - k : k) * view.inner;
          const T before = running.value();
          running.take(E::load(x, i));
          E::store(c.out(0), i, exclusive ? before : running.value());
        }
      });
    });
  }
  Result<Ok> lower(Lowering& l) const override {
    QC_ASSIGN(const int64_t at, resolve_axis(axis, l.in_type(0).rank(), loc()));
    const AxisDims view(l.in_dims(0), at);
    QC_TRY(l.param(view.outer * view.n * view.inner));
    kernel::Scan c;
    c.outer = view.outer;
    c.n = view.n;
    c.inner = view.inner;
    c.exclusive = exclusive ? 1 : 0;
    c.reverse = reverse ? 1 : 0;
    QC_ASSIGN(c.type, arithmetic_suffix(l.in_type(0).dtype, loc()));
    c.op = sums_ ? "sum" : "prod";
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c, {.in_place = {{0, 0}}});
    return Ok{};
  }

 private:
  bool sums_;
};

/// cummax and cummin: of equal elements the last position counts; NaN stays.
class ScanExtreme final : public OpNode<ScanExtreme> {
 public:
  explicit ScanExtreme(bool largest) : largest_(largest) {}
  int64_t axis = 0;

  const OpInfo& info() const override { return largest_ ? kCumMax : kCumMin; }
  void attrs(AttrVisitor& v) override { v("axis", axis); }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    QC_TRY(check_type(*this));
    QC_TRY(resolve_axis(axis, x.rank(), loc()));
    return std::vector<Type>{moved(x, x.shape), Type(DType::i64, x.shape)};
  }
  Result<Ok> eval(EvalContext& c) const override {
    const Tensor& x = c.in(0);
    QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
    const AxisView view(x.shape(), at);
    int64_t* positions = c.out(1).mutable_data<int64_t>();
    return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
      using E = decltype(type);
      view.for_each_row([&](int64_t start) {
        int64_t best = 0;
        for (int64_t k = 0; k < view.n; ++k) {
          const auto v = E::load(x, start + k * view.inner),
                     b = E::load(x, start + best * view.inner);
          if ((largest_ ? v >= b : v <= b) || is_nan(v)) best = k;
          E::store(c.out(0), start + k * view.inner, E::load(x, start + best * view.inner));
          positions[start + k * view.inner] = best;
        }
      });
    });
  }
  Result<Ok> lower(Lowering& l) const override {
    QC_ASSIGN(const int64_t at, resolve_axis(axis, l.in_type(0).rank(), loc()));
    const AxisDims view(l.in_dims(0), at);
    QC_TRY(l.param(view.outer * view.n * view.inner));
    kernel::ScanExtreme c;
    c.outer = view.outer;
    c.n = view.n;
    c.inner = view.inner;
    QC_ASSIGN(c.type, arithmetic_suffix(l.in_type(0).dtype, loc()));
    c.op = largest_ ? "max" : "min";
    c.x = l.in(0);
    c.y = l.out(0);
    c.positions = l.out(1);
    l.emit(c);
    return Ok{};
  }

 private:
  bool largest_;
};

namespace {

template <OpName kName>
Result<Values> onnx_scan(Import& m) {
  QC_ASSIGN(Value * operand_axis, operand(m, 1));
  QC_ASSIGN(const Ints axis, m.known_static(operand_axis, "axis"));
  if (axis.size() != 1)
    return m.fail(Code::shape, "axis has {} elements, expected one", axis.size());
  QC_ASSIGN(const bool exclusive, m.b("exclusive", false));
  QC_ASSIGN(const bool reverse, m.b("reverse", false));
  return one(m.emit(kName.text, {m.in(0)},
                    {{"axis", axis[0]}, {"exclusive", exclusive}, {"reverse", reverse}}));
}

/// Integers and bool accumulate in i64; a rank-0 tensor is its own result.
template <OpName kName>
Result<Values> aten_scan(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t axis, m.i("dim", 0));
  QC_ASSIGN(const DType type, m.dtype("dtype", is_float(x->dtype()) ? x->dtype() : DType::i64));
  QC_ASSIGN(x, m.cast(x, type));
  if (x->rank() == 0) return Values{x};
  return one(m.emit(kName.text, {x}, {{"axis", axis}}));
}

/// Bools are compared as the bytes 0 and 1.
template <OpName kName>
Result<Values> aten_scan_extreme(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t axis, m.i("dim", 0));
  if (x->dtype() != DType::boolean) return m.emit_all(kName.text, {x}, {{"axis", axis}});
  QC_ASSIGN(x, m.cast(x, DType::u8));
  QC_ASSIGN(Values found, m.emit_all(kName.text, {x}, {{"axis", axis}}));
  QC_ASSIGN(found[0], m.cast(found[0], DType::boolean));
  return found;
}

/// Differences of neighbours, n times.
Result<Values> aten_diff(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t times, m.i("n", 1));
  QC_ASSIGN(int64_t axis, m.i("dim", -1));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(Value * before, m.optional_tensor("prepend"));
  QC_ASSIGN(Value * after, m.optional_tensor("append"));
  if (before || after) {
    Values parts{x};
    if (before) parts.insert(parts.begin(), before);
    if (after) parts.push_back(after);
    QC_ASSIGN(x, m.emit("concat", parts, {{"axis", axis}}));
  }
  if (times < 0 || times > 16) return m.fail(Code::attribute, "differences of order {}", times);
  for (int64_t i = 0; i < times; ++i) {
    Dims start(x->shape().size(), 0), size = x->shape(), step(start.size(), 1);
    Dim& extent = size[static_cast<size_t>(axis)];
    extent = max(extent - Dim(1), Dim(0));
    QC_ASSIGN(Value * low,
              m.emit("slice", {x}, {{"start", start}, {"size", size}, {"step", step}}));
    start[static_cast<size_t>(axis)] = Dim(1);
    QC_ASSIGN(Value * high,
              m.emit("slice", {x}, {{"start", start}, {"size", size}, {"step", step}}));
    QC_ASSIGN(x, m.emit(x->dtype() == DType::boolean ? "logical_xor" : "sub", {high, low}));
  }
  return Values{x};
}

constexpr ImportRow kRows[] = {
    {"", "CumSum", onnx_scan<"cumsum">},
    {"", "CumProd", onnx_scan<"cumprod">},
    {"aten", "cumsum.default", aten_scan<"cumsum">},
    {"aten", "cumprod.default", aten_scan<"cumprod">},
    {"aten", "cummax.default", rank0_as_list<aten_scan_extreme<"cummax">>},
    {"aten", "cummin.default", rank0_as_list<aten_scan_extreme<"cummin">>},
    {"aten", "diff.default", aten_diff},
};

}  // namespace

void register_scan(Registration& r) {
  r.op(&kCumSum, [] { return std::unique_ptr<Node>(std::make_unique<Scan>(true)); });
  r.op(&kCumProd, [] { return std::unique_ptr<Node>(std::make_unique<Scan>(false)); });
  r.op(&kCumMax, [] { return std::unique_ptr<Node>(std::make_unique<ScanExtreme>(true)); });
  r.op(&kCumMin, [] { return std::unique_ptr<Node>(std::make_unique<ScanExtreme>(false)); });
  r.imports(kRows);
}

}  // namespace qc
