// An op outside quantc's tree: y = x * x * x for f32, built in with
// -DQUANTC_EXTRA_OPS=examples/extra_ops. Its kernel is two multiplications of the binary family, so
// it needs no kernel of its own.
#include "interp/eval.h"
#include "kernels/c/elementwise.h"
#include "kernels/numerics/base.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

class Cube final : public OpNode<Cube> {
 public:
  static const OpInfo kInfo;
  const OpInfo& info() const override { return kInfo; }

  Result<std::vector<Type>> infer() const override {
    if (input_type(0).dtype != DType::f32) {
      return error(Code::type, loc(), "cube takes f32, got {}", name(input_type(0).dtype));
    }
    return std::vector<Type>{input_type(0)};
  }
  Result<Ok> eval(EvalContext& c) const override {
    const float* x = c.in(0).data<float>();
    float* y = c.out(0).mutable_data<float>();
    for (int64_t i = 0; i < c.in(0).size(); ++i) y[i] = qn_mulf(qn_mulf(x[i], x[i]), x[i]);
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    int64_t n = 1;
    for (int64_t d : l.in_dims(0)) n *= d;
    qk_broadcast2_params params{};
    params.rank = 1;
    params.dims[0] = static_cast<int32_t>(n);
    params.a[0] = params.b[0] = 1;
    const View square = l.scratch(4 * n, "square");
    l.call("qk_binary_mul_f32", params, {l.in(0), l.in(0)}, {square});
    l.call("qk_binary_mul_f32", params, {square, l.in(0)}, {l.out()});
    return Ok{};
  }
};

const OpInfo Cube::kInfo = {
    .name = "cube",
    .traits = kElementwise | kAnyLayout,
    .summary = "x * x * x",
};

namespace {

Result<Values> import_cube(Import& m) {
  QC_ASSIGN(Value * y, m.emit("cube", {m.in(0)}));
  return Values{y};
}

constexpr ImportRow kRows[] = {{"example", "Cube", import_cube}};

}  // namespace

void register_cube(Registration& r) {
  r.op<Cube>();
  r.imports(kRows);
}

}  // namespace qc
