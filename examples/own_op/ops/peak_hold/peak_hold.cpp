// An op outside quantc's tree that computes by C of its own, built in with
// -DQUANTC_EXTRA_OPS=examples/own_op/ops -DQUANTC_EXTRA_KERNELS=examples/own_op: the envelope of a
// signal, which rises with each peak and falls by a factor from sample to sample.
#include "interp/eval.h"
#include "kernels/numerics/base.h"
#include "kernels/peak_hold/calls.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

class PeakHold final : public OpNode<PeakHold> {
 public:
  static const OpInfo kInfo;
  double decay = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("decay", decay); }

  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    if (x.dtype != DType::f32 || x.rank() < 1) {
      return error(Code::type, loc(), "peak_hold takes f32 with an axis of time, got {}", str(x));
    }
    if (!(decay >= 0 && decay <= 1)) {
      return error(Code::attribute, loc(), "decay is {}: expected 0 to 1", decay);
    }
    return std::vector<Type>{x};
  }
  /// The definition: plain loops by the same scalar functions as the kernel.
  Result<Ok> eval(EvalContext& c) const override {
    const Tensor& x = c.in(0);
    const int64_t n = x.shape().back();
    for (int64_t i = 0; i < x.size(); ++i) {
      const float now = x.data<float>()[i];
      const float held =
          i % n == 0 ? now : qn_mulf(c.out(0).data<float>()[i - 1], static_cast<float>(decay));
      c.out(0).mutable_data<float>()[i] = held > now ? held : now;
    }
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    Dims rows = l.in_dims(0);
    const Dim n = rows.back();
    rows.pop_back();
    kernel::PeakHold c;
    c.type = "f32";
    c.rows = product(rows);
    c.n = n;
    c.decay = static_cast<float>(decay);
    c.x = l.in(0);
    c.y = l.out();
    QC_TRY(l.param(product(l.in_dims(0))));
    l.emit(c, {.in_place = {{0, 0}}});
    return Ok{};
  }
};

const OpInfo PeakHold::kInfo = {
    .name = "peak_hold",
    .traits = kQuantizedInFloat,
    .summary = "the larger of a sample and what is left of the peak before it",
};

namespace {

Result<Values> emitted(Import& m, Value* x) {
  QC_ASSIGN(const double decay, m.f("decay", 1));
  QC_ASSIGN(Value * y, m.emit("peak_hold", {x}, {{"decay", decay}}));
  return Values{y};
}

/// An ONNX node of a domain of one's own.
Result<Values> onnx_peak_hold(Import& m) { return emitted(m, m.in(0)); }

/// torch.library.custom_op("example::peak_hold"): arguments have the names of its schema.
Result<Values> torch_peak_hold(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("x"));
  return emitted(m, x);
}

constexpr ImportRow kRows[] = {
    {"example", "PeakHold", onnx_peak_hold},
    {"example", "peak_hold.default", torch_peak_hold},
};

}  // namespace

void register_peak_hold(Registration& r) {
  r.op<PeakHold>();
  r.imports(kRows);
}

}  // namespace qc
