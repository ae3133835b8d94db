#include "interp/eval.h"
#include "kernels/logcumsumexp/calls.h"
#include "kernels/numerics/logsum.h"
#include "ops/common/axis.h"
#include "ops/common/dispatch.h"
#include "ops/common/importing.h"
#include "ops/common/rank0.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {

/// The logarithm of running sums of exponentials along an axis.
class LogCumSumExp final : public OpNode<LogCumSumExp> {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("axis", axis); }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    if (!is_float(x.dtype) || bits(x.dtype) < 16)
      return error(Code::type, loc(), "logcumsumexp of {} values", name(x.dtype));
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
      if constexpr (std::is_floating_point_v<T>) {
        view.for_each_row([&](int64_t start) {
          T top = -std::numeric_limits<T>::infinity(), sum = 0;
          for (int64_t k = 0; k < view.n; ++k) {
            const int64_t i = start + k * view.inner;
            if constexpr (sizeof(T) == 4)
              E::store(c.out(0), i, qn_logsum_f32(&top, &sum, E::load(x, i)));
            else
              E::store(c.out(0), i, qn_logsum_f64(&top, &sum, E::load(x, i)));
          }
        });
      }
    });
  }
  Result<Ok> lower(Lowering& l) const override {
    QC_ASSIGN(const int64_t at, resolve_axis(axis, l.in_type(0).rank(), loc()));
    const AxisDims view(l.in_dims(0), at);
    QC_TRY(l.param(view.outer * view.n * view.inner));
    kernel::Logcumsumexp c;
    c.outer = view.outer;
    c.n = view.n;
    c.inner = view.inner;
    c.type = name(l.in_type(0).dtype);
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c, {.in_place = {{0, 0}}});
    return Ok{};
  }
};

const OpInfo LogCumSumExp::kInfo = {
    .name = "logcumsumexp",
    .traits = kQuantizedInFloat,
    .summary = "logarithms of running sums of exponentials along an axis",
};

namespace {

Result<Values> aten_logcumsumexp(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t axis, m.i("dim", 0));
  return one(m.emit("logcumsumexp", {x}, {{"axis", axis}}));
}

constexpr ImportRow kRows[] = {{"aten", "logcumsumexp.default", rank0_as_list<aten_logcumsumexp>}};

}  // namespace

void register_logcumsumexp(Registration& r) {
  r.op<LogCumSumExp>();
  r.imports(kRows);
}

}  // namespace qc
