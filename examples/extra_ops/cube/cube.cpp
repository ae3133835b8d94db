// An op outside quantc's tree: y = x * x * x, built in with -DQUANTC_EXTRA_OPS=examples/extra_ops.
// The kernel of the f32 form is two multiplications of the binary family; the quantized form, for
// codes of 8 bits, is a table. So it needs no kernel of its own.
#include "interp/eval.h"
#include "kernels/binary/calls.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/quant.h"
#include "ops/common/registration.h"
#include "ops/quantize/scales.h"
#include "program/lowering.h"
#include "quant/quantizable.h"

namespace qc {

/// Codes in, codes out: decodes, cubes and encodes each with one rounding.
class QCube final : public QuantNodeBase<QCube> {
 public:
  static const OpInfo kInfo;
  const OpInfo& info() const override { return kInfo; }

  Result<std::vector<Type>> infer() const override {
    QC_TRY(check_quantized({0}));
    if (bits(input_type(0).dtype) != 8) {
      return error(Code::type, loc(), "qcube takes codes of 8 bits, got {}", str(input_type(0)));
    }
    return result(input_type(0).shape, input_type(0).layout);
  }
  Result<Ok> eval(EvalContext& c) const override {
    for (int64_t i = 0; i < c.in(0).size(); ++i) c.out(0).set_int(i, cubed(c.in(0).as_int(i)));
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    QC_ASSIGN(const Dim n, l.param(product(l.in_dims(0))));
    Tensor table(to.dtype, {256});
    const int64_t lowest = is_signed(input_type(0).dtype) ? -128 : 0;
    for (int64_t code = lowest; code < lowest + 256; ++code) {
      table.set_int(code & 255, cubed(code));
    }
    lower_lookup(l, n, l.constant(std::move(table), "cubes"));
    return Ok{};
  }

 private:
  int64_t cubed(int64_t code) const {
    const Format &in = *in_q(0), &out = *to.format;
    const float x = qn_dequantize(static_cast<int32_t>(code), in.scale_at(), in.zero_at());
    return qn_quantize(qn_mulf(qn_mulf(x, x), x), out.scale_at(), out.zero_at(),
                       static_cast<int32_t>(out.qmin), static_cast<int32_t>(out.qmax));
  }
};

const OpInfo QCube::kInfo = {
    .name = "qcube",
    .traits = kAnyLayout,
    .summary = "x * x * x of codes",
};

class Cube final : public OpNode<Cube>, public Quantizable {
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
    QC_ASSIGN(const Dim n, l.param(product(l.in_dims(0))));
    const View square = l.scratch(DType::f32, {n}, "square");
    const auto multiply = [&](const View& lhs, const View& to) {
      kernel::Binary c;
      c.op = "mul";
      c.type = "f32";
      c.rank = 1;
      c.dims[0] = n;
      c.a[0] = c.b[0] = 1;
      c.lhs = lhs;
      c.rhs = l.in(0);
      c.y = to;
      l.emit(c);
    };
    multiply(l.in(0), square);
    multiply(square, l.out());
    return Ok{};
  }
  Result<Value*> quantized(Quantizer& q) const override {
    if (!q.codes(0) || !q.result() || q.format(0).is_dynamic() || bits(q.codes(0)->dtype()) != 8) {
      return q.refuse("cube has an integer form for codes of 8 bits only");
    }
    return q.emit("qcube", {q.codes(0)},
                  {{"to", *q.result()}, {"arithmetic", str(q.arithmetic())}});
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
  r.op<QCube>();
  r.imports(kRows);
}

}  // namespace qc
