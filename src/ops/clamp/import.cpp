#include "ops/clamp/clamp.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

Result<Values> clamp_to(const Import& m, Value* x, double lo, double hi) {
  if (lo > hi) {  // every framework then gives the upper limit
    lo = hi;
  }
  QC_ASSIGN(Value * y, m.emit("clamp", {x}, {{"lo", lo}, {"hi", hi}}));
  return Values{y};
}

Result<Values> onnx_relu(Import& m) { return clamp_to(m, m.in(0), 0, kInf); }

Result<Values> onnx_clip_attributes(Import& m) {
  QC_ASSIGN(double lo, m.f("min", -kInf));
  QC_ASSIGN(double hi, m.f("max", kInf));
  return clamp_to(m, m.in(0), lo, hi);
}

/// Limits as operands: constants become attributes, others stay elementwise max and min.
Result<Values> limit(Import& m, Value* x, Value* lo, Value* hi) {
  auto number = [&](Value* v, double fallback) -> Result<double> {
    if (!v) return fallback;
    QC_ASSIGN(Tensor t, m.constant(v, "limit"));
    return t.as_double(0);
  };
  auto constant = [](Value* v) { return !v || (v->is_constant() && v->rank() == 0); };
  if (constant(lo) && constant(hi)) {
    QC_ASSIGN(double l, number(lo, -kInf));
    QC_ASSIGN(double h, number(hi, kInf));
    return clamp_to(m, x, l, h);
  }
  if (lo) {
    QC_ASSIGN(x, m.emit("max", {x, lo}));
  }
  if (hi) {
    QC_ASSIGN(x, m.emit("min", {x, hi}));
  }
  return Values{x};
}

Result<Values> onnx_clip(Import& m) { return limit(m, m.in(0), m.in(1), m.in(2)); }

Result<Values> aten_relu(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return clamp_to(m, x, 0, kInf);
}

Result<Values> aten_relu6(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return clamp_to(m, x, 0, 6);
}

Result<Values> aten_hardtanh(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(double lo, m.f("min_val", -1));
  QC_ASSIGN(double hi, m.f("max_val", 1));
  return clamp_to(m, x, lo, hi);
}

/// clamp, clip, clamp_min, clamp_max with numbers or tensors.
Result<Values> aten_clamp(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * lo, m.optional_tensor("min"));
  QC_ASSIGN(Value * hi, m.optional_tensor("max"));
  // An integer tensor with a float limit becomes float, as PyTorch promotes.
  for (Value** v : {&lo, &hi}) {
    if (!*v) continue;
    if (is_float((*v)->dtype()) && !is_float(x->dtype())) {
      QC_ASSIGN(x, m.cast(x, (*v)->dtype()));
    }
    QC_ASSIGN(*v, m.cast(*v, x->dtype()));
  }
  return limit(m, x, lo, hi);
}

constexpr ImportRow kRows[] = {
    {"", "Relu", onnx_relu},
    {"", "Clip", onnx_clip_attributes},
    {"", "Clip", onnx_clip, 11},
    {"aten", "relu.default", aten_relu},
    {"aten", "relu6.default", aten_relu6},
    {"aten", "hardtanh.default", aten_hardtanh},
    {"aten", "clamp.default", aten_clamp},
    {"aten", "clamp.Tensor", aten_clamp},
    {"aten", "clip.default", aten_clamp},
    {"aten", "clip.Tensor", aten_clamp},
    {"aten", "clamp_min.default", aten_clamp},
    {"aten", "clamp_min.Tensor", aten_clamp},
    {"aten", "clamp_max.default", aten_clamp},
    {"aten", "clamp_max.Tensor", aten_clamp},
};

}  // namespace

void register_clamp(Registration& r) {
  r.op<Clamp>();
  r.imports(kRows);
}

}  // namespace qc
