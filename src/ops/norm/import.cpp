#include <cmath>
#include <type_traits>

#include "kernels/numerics/base.h"
#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/common/registration.h"
#include "ops/norm/norm.h"

namespace qc {
namespace {

float multiply_add(float a, float b, float c) { return qn_fmaf(a, b, c); }
double multiply_add(double a, double b, double c) { return qn_fma(a, b, c); }

/// Scale or shift of a batch norm, computed in T; empty gammas and betas are 1 and 0.
template <class T>
Tensor batch_norm_factor(const Tensor& gammas, const Tensor& betas, const Tensor& means,
                         const Tensor& vars, double eps, bool is_shift) {
  auto number = [](const Tensor& t, int64_t i) { return static_cast<T>(t.as_double(i)); };
  Tensor out(std::is_same_v<T, double> ? DType::f64 : DType::f32, means.shape());
  for (int64_t i = 0; i < means.size(); ++i) {
    const T deviation = std::sqrt(number(vars, i) + static_cast<T>(eps));
    const T s = (gammas.size() > 0 ? number(gammas, i) : T(1)) / deviation;
    const T start = betas.size() > 0 ? number(betas, i) : T(0);
    out.set_double(i, is_shift ? multiply_add(-number(means, i), s, start) : s);
  }
  return out;
}

/// Scale and shift of a batch norm whose operands are constants; recorded, so that nothing is read
/// while a large model is imported. Null gamma and beta are 1 and 0. Computed in f64 for f64
/// values, else in f32.
Result<std::pair<Value*, Value*>> constant_batch_norm(const Import& m, DType dtype, Value* gamma,
                                                      Value* beta, Value* mean, Value* var,
                                                      double eps) {
  ConstantPool* pool = &m.graph().pool();
  auto id = [](Value* v) { return v ? std::optional(v->constant()) : std::nullopt; };
  const auto g = id(gamma), b = id(beta);
  const ConstId mu = mean->constant(), sigma = var->constant();
  const int64_t channels = pool->shape(mu)[0];
  for (auto operand : {g, b, std::optional(sigma)}) {
    if (operand && pool->shape(*operand) != std::vector<int64_t>{channels}) {
      return m.fail(Code::shape, "batch norm of {} channels with parameters of another size",
                    channels);
    }
  }
  auto record = [&](bool is_shift) {
    const std::string name = pool->name(mu) + (is_shift ? ".shift" : ".scale");
    const DType to = dtype == DType::f64 ? DType::f64 : DType::f32;
    return m.graph().constant(pool->add_lazy(to, {channels}, name, [=]() -> Result<Tensor> {
      QC_ASSIGN(Tensor means, pool->get(mu));
      QC_ASSIGN(Tensor vars, pool->get(sigma));
      Tensor gammas, betas;
      if (g) {
        QC_ASSIGN(gammas, pool->get(*g));
      }
      if (b) {
        QC_ASSIGN(betas, pool->get(*b));
      }
      const auto factor = to == DType::f64 ? batch_norm_factor<double> : batch_norm_factor<float>;
      return factor(gammas, betas, means, vars, eps, is_shift);
    }));
  };
  return std::pair{record(false), record(true)};
}

/// x * (gamma / sqrt(var + eps)) + (beta - mean * that).
Result<Value*> batch_norm(const Import& m, Value* x, Value* gamma, Value* beta, Value* mean,
                          Value* var, double eps) {
  if (x->rank() < 2 || mean->rank() != 1 || var->rank() != 1) {
    return m.fail(Code::shape, "batch norm of {} with statistics {} and {}", str(x->shape()),
                  str(mean->shape()), str(var->shape()));
  }
  auto constant = [](Value* v) { return !v || v->is_constant(); };
  Value *scale, *shift;
  if (constant(gamma) && constant(beta) && constant(mean) && constant(var)) {
    QC_ASSIGN(auto both, constant_batch_norm(m, x->dtype(), gamma, beta, mean, var, eps));
    scale = both.first;
    shift = both.second;
  } else {
    QC_ASSIGN(Value * deviation, m.emit("add", {var, m.scalar(eps, var->dtype())}));
    QC_ASSIGN(deviation, m.emit("sqrt", {deviation}));
    if (gamma) {
      QC_ASSIGN(gamma, m.cast(gamma, var->dtype()));
      QC_ASSIGN(scale, m.emit("div", {gamma, deviation}));
    } else {
      QC_ASSIGN(scale, m.emit("reciprocal", {deviation}));
    }
    QC_ASSIGN(mean, m.cast(mean, var->dtype()));
    QC_ASSIGN(shift, m.emit("mul", {mean, scale}));
    if (beta) {
      QC_ASSIGN(beta, m.cast(beta, var->dtype()));
      QC_ASSIGN(shift, m.emit("sub", {beta, shift}));
    } else {
      QC_ASSIGN(shift, m.emit("neg", {shift}));
    }
  }
  QC_ASSIGN(scale, m.cast(scale, x->dtype()));
  QC_ASSIGN(shift, m.cast(shift, x->dtype()));
  return m.emit("scale_shift", {x, scale, shift});
}

Result<Values> onnx_batch_norm(Import& m) {
  QC_ASSIGN(double eps, m.f("epsilon", 1e-5));
  QC_ASSIGN(int64_t training, m.i("training_mode", 0));
  QC_ASSIGN(int64_t spatial, m.i("spatial", 1));
  for (size_t i = 0; i < 5; ++i) {
    if (!m.has(i)) return m.fail(Code::graph, "BatchNormalization needs five operands");
  }
  if (training != 0) {
    return m.fail(Code::unsupported,
                  "BatchNormalization in training mode; export the model in evaluation mode");
  }
  if (spatial == 0) return m.fail(Code::unsupported, "BatchNormalization with spatial = 0");
  return one(batch_norm(m, m.in(0), m.in(1), m.in(2), m.in(3), m.in(4), eps));
}

/// Statistics of each channel over the batch too.
Result<Value*> batch_statistics(const Import& m, Value* x, Value* gamma, Value* beta, double eps) {
  if (x->rank() < 2 || !x->shape()[1].is_static()) {
    return m.fail(Code::dim, "batch norm of {}", str(x->shape()));
  }
  Ints perm(static_cast<size_t>(x->rank()));
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[0], perm[1]);
  const Dim channels = x->shape()[1];
  QC_ASSIGN(Value * y, m.emit("transpose", {x}, {{"perm", perm}}));
  const Dims swapped = y->shape();
  const Dim rest = product(Dims(swapped.begin() + 1, swapped.end()));
  QC_ASSIGN(y, m.emit("reshape", {y}, {{"shape", Dims{Dim(1), channels, rest}}}));
  QC_ASSIGN(y,
            m.emit("group_norm", {y, gamma, beta}, {{"groups", channels.value()}, {"eps", eps}}));
  QC_ASSIGN(y, m.emit("reshape", {y}, {{"shape", swapped}}));
  return m.emit("transpose", {y}, {{"perm", perm}});
}

Result<Values> aten_batch_norm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * gamma, m.optional_tensor("weight"));
  QC_ASSIGN(Value * beta, m.optional_tensor("bias"));
  QC_ASSIGN(Value * mean, m.optional_tensor("running_mean"));
  QC_ASSIGN(Value * var, m.optional_tensor("running_var"));
  QC_ASSIGN(bool training, m.b("training", false));
  QC_ASSIGN(double eps, m.f(m.given("epsilon") ? "epsilon" : "eps", 1e-5));
  Value* y = x;
  if (x->rank() == 1 && x->shape()[0] == Dim(0)) {
    // PyTorch takes it, and there is nothing to normalise.
  } else if (!mean || !var) {
    QC_ASSIGN(y, batch_statistics(m, x, gamma, beta, eps));
  } else if (training) {
    return m.fail(Code::unsupported, "batch norm in training mode: call .eval() before exporting");
  } else {
    QC_ASSIGN(y, batch_norm(m, x, gamma, beta, mean, var, eps));
  }
  if (m.node().outputs == 1) return Values{y};
  // Statistics nobody computes here, in the type that stands for them.
  const bool wide = m.node().op.starts_with("cudnn") && x->dtype() != DType::f64;
  Value* empty = m.graph().constant(Tensor(wide ? DType::f32 : x->dtype(), {0}));
  // PyTorch takes the running statistics of f16 and bf16 for f32 where it returns them.
  for (Value** v : {&mean, &var}) {
    if (*v && is_narrow((*v)->dtype())) {
      QC_ASSIGN(*v, m.cast(*v, DType::f32));
    }
  }
  return Values{y, empty, empty, mean, var};
}

/// Parameters that have the normalised shape go into the node; others are applied after it.
Result<Values> row_norm(const Import& m, const char* op, Value* x, Value* scale, Value* shift,
                        int64_t axis, double eps, bool statistics) {
  if (!x) return m.fail(Code::graph, "a norm of nothing");
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dims shape(x->shape().begin() + axis, x->shape().end());
  auto fits = [&](Value* v) { return !v || (v->shape() == shape && v->dtype() == x->dtype()); };
  const bool inside = fits(scale) && fits(shift);
  Values inputs{x};
  if (inside && (scale || shift)) inputs.push_back(scale);
  if (inside && shift) inputs.push_back(shift);
  statistics = statistics && (m.wants(1) || m.wants(2));
  const AttrMap attrs{
      {"axis", axis}, {"eps", written_eps(eps, x->dtype())}, {"statistics", statistics}};
  QC_ASSIGN(Values y, m.emit_all(op, inputs, attrs));
  if (inside) return y;
  if (scale) {
    QC_ASSIGN(scale, m.cast(scale, x->dtype()));
    QC_ASSIGN(y[0], m.emit("mul", {y[0], scale}));
  }
  if (shift) {
    QC_ASSIGN(shift, m.cast(shift, x->dtype()));
    QC_ASSIGN(y[0], m.emit("add", {y[0], shift}));
  }
  return y;
}

Result<Values> onnx_layer_norm(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", -1));
  QC_ASSIGN(double eps, m.f("epsilon", 1e-5));
  return row_norm(m, "layer_norm", m.in(0), m.in(1), m.in(2), axis, eps, m.node().outputs > 1);
}

Result<Values> onnx_rms_norm(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", -1));
  QC_ASSIGN(double eps, m.f("epsilon", 1e-5));
  return row_norm(m, "rms_norm", m.in(0), m.in(1), nullptr, axis, eps, m.node().outputs > 1);
}

/// com.microsoft: the norm of input + skip (+ bias); output 3 is that sum.
Result<Values> skip_norm(const Import& m, const char* op, Value* gamma, Value* beta, Value* bias) {
  QC_ASSIGN(double eps, m.f("epsilon", 1e-12));
  if (m.node().outputs > 1 && (m.wants(1) || m.wants(2))) {
    return m.fail(Code::unsupported, "statistics of a fused skip norm");
  }
  QC_ASSIGN(Value * sum, m.emit("add", {m.in(0), m.in(1)}));
  if (bias) {
    QC_ASSIGN(sum, m.emit("add", {sum, bias}));
  }
  QC_ASSIGN(Values y, row_norm(m, op, sum, gamma, beta, -1, eps, false));
  if (m.node().outputs == 1) return y;
  return Values{y[0], nullptr, nullptr, sum};
}
Result<Values> skip_layer_norm(Import& m) {
  return skip_norm(m, "layer_norm", m.in(2), m.in(3), m.in(4));
}
Result<Values> skip_rms_norm(Import& m) {
  return skip_norm(m, "rms_norm", m.in(2), nullptr, m.in(3));
}

Result<Values> group_norm(const Import& m, Value* x, Value* gamma, Value* beta, int64_t groups,
                          double eps, bool statistics) {
  Values inputs{x};
  if (gamma || beta) inputs.push_back(gamma);
  if (beta) inputs.push_back(beta);
  return m.emit_all("group_norm", inputs,
                    {{"groups", groups},
                     {"eps", written_eps(eps, x->dtype())},
                     {"statistics", statistics && (m.wants(1) || m.wants(2))}});
}

Result<Values> onnx_instance_norm(Import& m) {
  QC_ASSIGN(double eps, m.f("epsilon", 1e-5));
  if (!m.has(0) || m.in(0)->rank() < 2 || !m.in(0)->shape()[1].is_static()) {
    return m.fail(Code::shape, "InstanceNormalization needs a known number of channels");
  }
  return group_norm(m, m.in(0), m.in(1), m.in(2), m.in(0)->shape()[1].value(), eps, false);
}

/// Before version 21 scale and bias are per group: repeated for its channels.
Result<Values> onnx_group_norm(Import& m) {
  QC_ASSIGN(double eps, m.f("epsilon", 1e-5));
  QC_ASSIGN(int64_t groups, m.i("num_groups", 1));
  Value *x = m.in(0), *gamma = m.in(1), *beta = m.in(2);
  if (groups < 1) return m.fail(Code::attribute, "{} groups", groups);
  if (x->rank() < 2 || !x->shape()[1].is_static()) {
    return m.fail(Code::shape, "needs an input with known channels, got {}", str(x->type()));
  }
  for (Value** v : {&gamma, &beta}) {
    if (m.version() < 21) {
      const Dim each(x->shape()[1].value() / groups);
      QC_ASSIGN(*v, m.emit("reshape", {*v}, {{"shape", Dims{Dim(groups), Dim(1)}}}));
      QC_ASSIGN(*v, m.emit("expand", {*v}, {{"shape", Dims{Dim(groups), each}}}));
      QC_ASSIGN(*v, m.emit("reshape", {*v}, {{"shape", Dims{Dim(groups) * each}}}));
    }
    QC_ASSIGN(*v, m.cast(*v, x->dtype()));
  }
  return group_norm(m, x, gamma, beta, groups, eps, false);
}

Result<Values> onnx_lrn(Import& m) {
  QC_ASSIGN(int64_t size, m.i("size", 1));
  QC_ASSIGN(double alpha, m.f("alpha", 1e-4));
  QC_ASSIGN(double beta, m.f("beta", 0.75));
  QC_ASSIGN(double bias, m.f("bias", 1));
  return one(m.emit("local_response_norm", {m.in(0)},
                    {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}}));
}

Result<Values> onnx_lp_norm(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", -1));
  QC_ASSIGN(int64_t power, m.i("p", 2));
  Value* x = m.in(0);
  if (power != 1 && power != 2)
    return m.fail(Code::attribute, "LpNormalization with p = {}", power);
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const AttrMap attrs{{"axes", Ints{axis}}, {"keepdims", true}};
  QC_ASSIGN(Value * norm, m.emit(power == 1 ? "reduce_l1" : "reduce_l2", {x}, attrs));
  QC_ASSIGN(Value * empty, m.emit("eq", {norm, m.scalar(0, x->dtype())}));
  QC_ASSIGN(norm,
            m.emit("where", {empty, m.scalar(1, x->dtype()), norm}));  // a zero row stays zero
  return one(m.emit("div", {x, norm}));
}

Result<Values> onnx_mean_variance(Import& m) {
  QC_ASSIGN(Ints axes, m.ints("axes", {0, 2, 3}));
  Value* x = m.in(0);
  const AttrMap attrs{{"axes", axes}, {"keepdims", true}};
  QC_ASSIGN(Value * mean, m.emit("reduce_mean", {x}, attrs));
  QC_ASSIGN(Value * centred, m.emit("sub", {x, mean}));
  QC_ASSIGN(Value * square, m.emit("mul", {centred, centred}));
  QC_ASSIGN(Value * var, m.emit("reduce_mean", {square}, attrs));
  QC_ASSIGN(Value * deviation, m.emit("sqrt", {var}));
  QC_ASSIGN(deviation, m.emit("add", {deviation, m.scalar(1e-9, x->dtype())}));
  return one(m.emit("div", {centred, deviation}));
}

/// The eps rms_norm takes where none is given: the step from 1 to the next value of the type.
double default_step(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

Result<Values> aten_row_norm(Import& m, const char* op, bool with_bias, bool statistics) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Dims shape, m.dims("normalized_shape"));
  QC_ASSIGN(Value * gamma, m.optional_tensor("weight"));
  Value* beta = nullptr;
  if (with_bias) {
    QC_ASSIGN(beta, m.optional_tensor("bias"));
  }
  QC_ASSIGN(double eps, m.f("eps", with_bias ? 1e-5 : default_step(x->dtype())));
  if (shape.empty() || static_cast<int64_t>(shape.size()) > x->rank()) {
    return m.fail(Code::attribute, "normalized_shape has {} entries for {}", shape.size(),
                  str(x->shape()));
  }
  return row_norm(m, op, x, gamma, beta, -static_cast<int64_t>(shape.size()), eps, statistics);
}
Result<Values> aten_layer_norm(Import& m) { return aten_row_norm(m, "layer_norm", true, false); }
/// Statistics of narrow floats are f32 here; PyTorch's have the operand's type on some devices.
Result<Ok> check_statistics(const Import& m, const Value* x) {
  const bool narrow = x->dtype() == DType::f16 || x->dtype() == DType::bf16;
  if (!narrow || !(m.wants(1) || m.wants(2))) return Ok{};
  return m.fail(Code::unsupported, "statistics of a norm of {}", name(x->dtype()));
}

Result<Values> aten_native_layer_norm(Import& m) {
  QC_ASSIGN(const Value* x, m.tensor("input"));
  QC_TRY(check_statistics(m, x));
  return aten_row_norm(m, "layer_norm", true, true);
}
Result<Values> aten_rms_norm(Import& m) { return aten_row_norm(m, "rms_norm", false, false); }
Result<Values> aten_fused_rms_norm(Import& m) { return aten_row_norm(m, "rms_norm", false, true); }

Result<Values> aten_group_norm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * gamma, m.optional_tensor("weight"));
  QC_ASSIGN(Value * beta, m.optional_tensor("bias"));
  const bool native = m.given("group");
  QC_ASSIGN(int64_t groups, m.i(native ? "group" : "num_groups", 1));
  QC_ASSIGN(double eps, m.f("eps", 1e-5));
  if (native) QC_TRY(check_statistics(m, x));
  return group_norm(m, x, gamma, beta, groups, eps, native);
}

Result<Values> aten_instance_norm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * gamma, m.optional_tensor("weight"));
  QC_ASSIGN(Value * beta, m.optional_tensor("bias"));
  QC_ASSIGN(Value * mean, m.optional_tensor("running_mean"));
  QC_ASSIGN(Value * var, m.optional_tensor("running_var"));
  QC_ASSIGN(bool from_input, m.b("use_input_stats", true));
  QC_ASSIGN(double eps, m.f("eps", 1e-5));
  if (!from_input && mean && var) return one(batch_norm(m, x, gamma, beta, mean, var, eps));
  if (x->rank() < 2) return m.fail(Code::shape, "instance norm of {}", str(x->shape()));
  if (!x->shape()[1].is_static()) {
    return m.fail(Code::dim, "{} channels; bind their number with --dim", x->shape()[1].str());
  }
  return group_norm(m, x, gamma, beta, x->shape()[1].value(), eps, false);
}

constexpr ImportRow kRows[] = {
    {"", "BatchNormalization", onnx_batch_norm},
    {"", "LayerNormalization", onnx_layer_norm},
    {"", "SimplifiedLayerNormalization", onnx_rms_norm},
    {"", "RMSNormalization", onnx_rms_norm},
    {"", "InstanceNormalization", onnx_instance_norm},
    {"", "GroupNormalization", onnx_group_norm},
    {"", "LRN", onnx_lrn},
    {"", "LpNormalization", onnx_lp_norm},
    {"", "MeanVarianceNormalization", onnx_mean_variance},
    {"com.microsoft", "SimplifiedLayerNormalization", onnx_rms_norm},
    {"com.microsoft", "SkipLayerNormalization", skip_layer_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", skip_rms_norm},
    {"aten", "batch_norm.default", aten_batch_norm},
    {"aten", "native_batch_norm.default", aten_batch_norm},
    {"aten", "cudnn_batch_norm.default", aten_batch_norm},
    {"aten", "_native_batch_norm_legit_no_training.default", aten_batch_norm},
    {"aten", "_native_batch_norm_legit.no_stats", aten_batch_norm},
    {"aten", "_native_batch_norm_legit.default", aten_batch_norm},
    {"aten", "_native_batch_norm_legit_functional.default", aten_batch_norm},
    {"aten", "layer_norm.default", aten_layer_norm},
    {"aten", "native_layer_norm.default", aten_native_layer_norm},
    {"aten", "rms_norm.default", aten_rms_norm},
    {"aten", "_fused_rms_norm.default", aten_fused_rms_norm},
    {"aten", "group_norm.default", aten_group_norm},
    {"aten", "native_group_norm.default", aten_group_norm},
    {"aten", "instance_norm.default", aten_instance_norm},
};

}  // namespace

void register_norm(Registration& r) {
  r.op<ScaleShiftNode>();
  r.op(&Norm::kLayer, [] { return std::make_unique<Norm>(NormKind::layer); });
  r.op(&Norm::kRms, [] { return std::make_unique<Norm>(NormKind::rms); });
  r.op(&Norm::kGroup, [] { return std::make_unique<Norm>(NormKind::group); });
  for (NormKind kind : {NormKind::layer, NormKind::rms, NormKind::group}) {
    for (bool dynamic : {false, true}) {
      r.op(&norm_quantize_info(kind, dynamic),
           [=] { return std::make_unique<NormQuantize>(kind, dynamic); });
    }
  }
  r.op<LocalResponseNorm>();
  r.imports(kRows);
  r.rewrites(norm_rewrites());
}

}  // namespace qc
