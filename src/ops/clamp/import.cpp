#include <cmath>
#include <optional>

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

/// A limit as an attribute: `fallback` without one, nullopt where it is no constant, is NaN or is
/// an integer that no double is equal to.
Result<std::optional<double>> attribute(const Import& m, Value* v, double fallback) {
  using Found = std::optional<double>;
  if (!v) return Found(fallback);
  if (!v->is_constant() || v->rank() != 0) return Found();
  QC_ASSIGN(const Tensor t, m.constant(v, "limit"));
  const double limit = t.as_double(0);
  Tensor again(t.dtype(), {});
  again.set_double(0, limit);
  return again.identical(t) && !std::isnan(limit) ? Found(limit) : Found();
}

/// Limits as operands: numbers become attributes, others stay elementwise max and min.
Result<Values> limit(Import& m, Value* x, Value* lo, Value* hi) {
  QC_ASSIGN(const auto low, attribute(m, lo, -kInf));
  QC_ASSIGN(const auto high, attribute(m, hi, kInf));
  if (low && high) return clamp_to(m, x, *low, *high);
  const bool flags = x->dtype() == DType::boolean;
  if (lo) {
    QC_ASSIGN(x, m.emit(flags ? "logical_or" : "max", {x, lo}));
  }
  if (hi) {
    QC_ASSIGN(x, m.emit(flags ? "logical_and" : "min", {x, hi}));
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
  DType type = x->dtype();
  for (const char* name : {"min", "max"}) {
    if (!m.given(name)) continue;
    QC_ASSIGN(const DType with, m.promoted_type("self", name));
    type = promote(type, with);
  }
  QC_ASSIGN(x, m.cast(x, type));
  Value *lo = nullptr, *hi = nullptr;
  if (m.given("min")) {
    QC_ASSIGN(lo, m.tensor_as("min", x->dtype()));
  }
  if (m.given("max")) {
    QC_ASSIGN(hi, m.tensor_as("max", x->dtype()));
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
