// Weight normalisation: a direction scaled to a given length along every axis but one. It is made
// of other ops, and folds away where both operands are constant.
#include "ops/common/registration.h"

namespace qc {
namespace {

Result<Values> aten_weight_norm(Import& m) {
  QC_ASSIGN(Value * v, m.tensor("v"));
  QC_ASSIGN(Value * g, m.tensor("g"));
  QC_ASSIGN(int64_t dim, m.i("dim", 0));
  Ints axes;
  if (dim != -1) {  // -1: one length for the whole tensor
    QC_ASSIGN(dim, resolve_axis(dim, v->rank(), m.loc()));
  }
  for (int64_t i = 0; i < v->rank(); ++i) {
    if (i != dim) axes.push_back(i);
  }
  QC_ASSIGN(Value * norm, m.emit("reduce_l2", {v}, {{"axes", axes}, {"keepdims", true}}));
  QC_ASSIGN(Value * scale, m.emit("div", {g, norm}));
  QC_ASSIGN(Value * w, m.emit("mul", {v, scale}));
  return Values{w, norm};
}

constexpr ImportRow kRows[] = {
    {"aten", "_weight_norm.default", aten_weight_norm},
    {"aten", "_weight_norm_interface.default", aten_weight_norm},
};

}  // namespace

void register_weight_norm(Registration& r) { r.imports(kRows); }

}  // namespace qc
