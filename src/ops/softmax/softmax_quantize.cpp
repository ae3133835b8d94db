// softmax that writes codes: a quantize that follows becomes part of it.
#include "kernels/softmax/calls.h"
#include "ops/common/axis.h"
#include "ops/softmax/softmax.h"

namespace qc {

const OpInfo SoftmaxQuantize::kStatic = {
    .name = "softmax_quantize",
    .traits = kAnyLayout | kQuantizedInFloat,
    .summary = "softmax as codes",
};
const OpInfo SoftmaxQuantize::kDynamic = {
    .name = "softmax_quantize_dynamic",
    .outputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "softmax as codes with scales found at run time",
};

void SoftmaxQuantize::attrs(AttrVisitor& v) {
  v("axis", axis);
  v("zero", zero, std::string("none"));
  epilogue.attrs(v);
}

Result<Ok> SoftmaxQuantize::pad(PaddedNode& c) {
  const int64_t at = c.resolved(axis);
  if (epilogue.dynamic && (!epilogue.per_token || c.is_padded(0, c.resolved(-1)))) {
    return c.refuse("padding would take part in the range of codes");
  }
  if (c.is_padded(0, at)) QC_TRY(c.fill(0, at, Fill::lowest));
  if (!epilogue.dynamic) {
    c.set_result(c.padding(0));
    return Ok{};
  }
  for (size_t i = 0; i < output_count(); ++i) c.set_result(i, c.padding(0));
  return Ok{};
}

Result<std::vector<Type>> SoftmaxQuantize::infer() const {
  QC_TRY(check_softmax(*this, axis, zero));
  if (epilogue.floats) return error(Code::attribute, loc(), "{} keeps no floats", op());
  return epilogue.types(input_type(0), loc());
}

Result<Ok> SoftmaxQuantize::eval(EvalContext& c) const {
  Tensor y(DType::f32, c.in(0).shape());
  QC_TRY(softmax_rows(c.in(0), axis, false, softmax_zero_mode(zero), y, loc()));
  eval_epilogue(epilogue, y, c, output()->type());
  return Ok{};
}

Result<Ok> SoftmaxQuantize::lower(Lowering& l) const {
  const Type& x = l.in_type(0);
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const AxisDims view(l.in_dims(0), physical_axis(x, at));
  kernel::SoftmaxQuantize c;
  c.outer = view.outer;
  c.n = view.n;
  c.inner = view.inner;
  c.zero = softmax_zero_mode(zero);
  c.x = l.in(0);
  QC_TRY(lower_epilogue(l, epilogue, c));
  l.emit(c);
  return Ok{};
}

}  // namespace qc
