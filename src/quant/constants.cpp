#include "quant/constants.h"

#include <cmath>

#include "ir/op_table.h"
#include "kernels/numerics/quant.h"
#include "quant/groups.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

/// 1 / s in the precision the format gives s in.
float inverse(const Format& f, double s) {
  if (f.scale.values.dtype() == DType::f64) return static_cast<float>(1.0 / s);
  return 1.0f / static_cast<float>(s);
}

}  // namespace

Value* quantized_constant(Graph& graph, Value* constant, const QType& type,
                          const Arithmetic& arithmetic) {
  ConstantPool* pool = &graph.pool();
  const ConstId source = constant->constant();
  const std::vector<int64_t> shape = pool->shape(source);
  const bool reciprocal = arithmetic.quantize == Arithmetic::Quantize::reciprocal;
  auto make = [pool, source, shape, type, reciprocal]() -> Result<Tensor> {
    QC_ASSIGN(const Tensor x, pool->get(source));
    const Format& f = *type.format;
    Tensor codes(type.dtype, shape);
    Groups(Type(type, to_dims(shape))).for_each([&](int64_t i, int64_t g) {
      const int32_t zero = f.zero_at(g), lo = static_cast<int32_t>(f.qmin),
                    hi = static_cast<int32_t>(f.qmax);
      const float v = x.data<float>()[i];
      const double s = f.scale.values.as_double(f.scale.values.size() == 1 ? 0 : g);
      codes.set_int(i, reciprocal ? qn_quantize_reciprocal(v, inverse(f, s), zero, lo, hi)
                                  : qn_quantize(v, static_cast<float>(s), zero, lo, hi));
    });
    return codes;
  };
  const ConstId id = pool->add_lazy(type.dtype, shape, pool->name(source), std::move(make));
  return graph.constant(id, type.format);
}

Value* decoded_constant(Graph& graph, Value* codes) {
  ConstantPool* pool = &graph.pool();
  const ConstId source = codes->constant();
  const std::vector<int64_t> shape = pool->shape(source);
  const QType type = codes->type().quant();
  auto make = [pool, source, shape, type]() -> Result<Tensor> {
    QC_ASSIGN(const Tensor q, pool->get(source));
    const Format& f = *type.format;
    Tensor x(DType::f32, shape);
    Groups(Type(type, to_dims(shape))).for_each([&](int64_t i, int64_t g) {
      const auto code = static_cast<int32_t>(q.as_int(i));
      x.mutable_data<float>()[i] = qn_dequantize(code, f.scale_at(g), f.zero_at(g));
    });
    return x;
  };
  return graph.constant(pool->add_lazy(DType::f32, shape, pool->name(source), std::move(make)));
}

Result<QType> constant_format(const Graph& graph, const Value* constant, const QType& like,
                              const Loc& loc) {
  QC_ASSIGN(const Tensor x, graph.pool().get(constant->constant()));
  const int64_t qmin = like.format->qmin, qmax = like.format->qmax;
  float least = 0.0f, most = 0.0f;
  QC_TRY(check_finite(x, "element", loc));
  for (int64_t i = 0; i < x.size(); ++i) {
    const float v = x.data<float>()[i];
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const bool both = qmin < 0;
  const double span = both ? std::max(-double{least}, double{most}) : double{most} - double{least};
  const float steps = static_cast<float>(both ? std::min(-qmin, qmax) : qmax - qmin);
  float scale = static_cast<float>(span / double{steps});
  if (!(scale > 0)) scale = 1.0f;
  const double zero =
      both ? 0.0 : std::round(static_cast<double>(qmin) - double{least} / double{scale});
  return tensor_format(like.dtype, scale, static_cast<int32_t>(zero), qmin, qmax);
}

Result<Ok> check_finite(const Tensor& x, std::string_view what, const Loc& loc) {
  const float* v = x.data<float>();
  for (int64_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(v[i])) continue;
    return error(Code::quant, loc, "{} {} is {}, which no code can stand for", what, i, v[i]);
  }
  return Ok{};
}

namespace {

/// Scale and zero point of a group of weights with these extremes.
std::pair<float, int32_t> fitted(float least, float most, const WeightScheme& s) {
  const float codes = static_cast<float>(s.qmax - s.qmin);
  const float largest = std::max(-least, most);
  const float below = -static_cast<float>(s.qmin), above = static_cast<float>(s.qmax);
  const float scale = s.scaling == WeightScaling::symmetric ? largest / above
                      : s.scaling == WeightScaling::edge    ? largest / below
                      : s.scaling == WeightScaling::inside  ? std::max(-least / below, most / above)
                                                            : (most - least) / codes;
  if (!(scale > 0)) return {1.0f, 0};
  if (s.scaling == WeightScaling::symmetric || s.scaling == WeightScaling::inside)
    return {scale, 0};
  // A largest weight above 0 takes the greatest code, which then is as many steps from zero.
  if (s.scaling == WeightScaling::edge)
    return {scale, most > -least ? static_cast<int32_t>(s.qmin + s.qmax) : 0};
  const float zero = std::nearbyint(static_cast<float>(s.qmin) - least / scale);
  return {scale, static_cast<int32_t>(
                     std::clamp(zero, static_cast<float>(s.qmin), static_cast<float>(s.qmax)))};
}

void scale_weights(const Tensor& w, const Type& type, const WeightScheme& scheme, Format& format) {
  std::vector<float> least, most;
  Groups(type).for_each([&](int64_t i, int64_t g) {
    const size_t at = static_cast<size_t>(g);
    if (least.size() <= at) {
      least.resize(at + 1, 0.0f);
      most.resize(at + 1, 0.0f);
    }
    least[at] = std::min(least[at], w.data<float>()[i]);
    most[at] = std::max(most[at], w.data<float>()[i]);
  });
  std::vector<float> scales(std::max<size_t>(least.size(), 1), 1.0f);
  std::vector<int32_t> zeros(scales.size(), 0);
  for (size_t i = 0; i < least.size(); ++i) {
    std::tie(scales[i], zeros[i]) = fitted(least[i], most[i], scheme);
  }
  const bool one = scheme.granularity == Granularity::tensor;
  const Ints shape = one ? Ints{} : Ints{static_cast<int64_t>(scales.size())};
  format.scale = Component::of(Tensor::of<float>(DType::f32, shape, scales));
  if (std::any_of(zeros.begin(), zeros.end(), [](int32_t z) { return z != 0; })) {
    format.zero_point = Component::of(Tensor::of<int32_t>(DType::i32, shape, zeros));
  }
}

}  // namespace

Result<QType> weight_format(const Graph& graph, const Value* constant, const WeightScheme& scheme,
                            int64_t channel_axis, int64_t sum_axis, const Loc& loc) {
  auto format = std::make_shared<Format>();
  format->qmin = scheme.qmin;
  format->qmax = scheme.qmax;
  format->granularity = scheme.granularity;
  format->group = scheme.group;
  format->axis = scheme.granularity == Granularity::axis    ? channel_axis
                 : scheme.granularity == Granularity::group ? sum_axis
                                                            : 0;
  if (scheme.zero_point) format->zero_point = Component::of(*scheme.zero_point);
  const Type type(QType{scheme.dtype, format}, constant->shape());
  QC_ASSIGN(const Tensor w, graph.pool().get(constant->constant()));
  QC_TRY(check_finite(w, "weight", loc));
  if (scheme.scale) {
    format->scale = Component::of(*scheme.scale);
  } else {
    scale_weights(w, type, scheme, *format);
  }
  QC_TRY(check_format(type, loc));
  return type.quant();
}

bool limits_scale(const Node& node) {
  for (const auto& [name, value] : get_attrs(node, true)) {
    const double* limit = std::get_if<double>(&value);
    if (limit && name == "lo" && *limit != 0 && *limit != -kInf) return false;
    if (limit && name == "hi" && *limit != kInf) return false;
  }
  return true;
}

Result<Ok> change_weights(Graph& graph, Node& node, const WeightChange& change) {
  const auto* quantizable = capability<Quantizable>(&node);
  auto* host = capability<AbsorbsScaleShift>(&node);
  const int wi = quantizable ? quantizable->weight_operand() : -1,
            bi = quantizable ? quantizable->bias_operand() : -1;
  const auto is_constant = [&](int i) {
    const bool given = i >= 0 && static_cast<size_t>(i) < node.input_count();
    const Value* v = given ? node.input(static_cast<size_t>(i)) : nullptr;
    return v ? v->is_constant() : i == bi;
  };
  if (!host || wi < 0 || bi < 0 || !is_constant(wi) || !is_constant(bi)) {
    return error(Code::rule, node.loc(),
                 "multipliers and corrections need an op with weights, and these and its bias "
                 "constant");
  }
  const int64_t axis = quantizable->weight_channel_axis();
  const Dim channels = node.output()->shape().at(static_cast<size_t>(host->output_channel_axis()));
  for (const auto& list : {change.output_multiplier, change.bias_correction}) {
    if (list && Dim(list->size()) != channels) {
      return error(Code::rule, node.loc(), "{} numbers for {} channels", list->size(),
                   channels.str());
    }
  }
  if (change.input_multiplier) {
    const Dims& x = node.input(0)->shape();
    const auto at = static_cast<size_t>(host->input_channel_axis());
    if (x.at(at) != Dim(change.input_multiplier->size())) {
      return error(Code::rule, node.loc(), "{} numbers for the channels of {}",
                   change.input_multiplier->size(), str(x));
    }
    QC_ASSIGN(const bool done,
              host->absorb_before(graph, graph.constant(*change.input_multiplier), nullptr));
    if (!done) return error(Code::rule, node.loc(), "input_multiplier does not fit this node");
  }
  std::vector<Value*> inputs = node.inputs();
  inputs.resize(std::max(inputs.size(), static_cast<size_t>(bi) + 1));
  Value*& weight = inputs[static_cast<size_t>(wi)];
  Value*& bias = inputs[static_cast<size_t>(bi)];
  if (change.output_multiplier) {
    if (!limits_scale(node)) {
      return error(Code::rule, node.loc(),
                   "output_multiplier needs a result that is not limited, or to 0 and above");
    }
    Value* by = graph.constant(*change.output_multiplier);
    // The channels of a group alone where the weights repeat the axis for each.
    const Dim& own = weight->shape().at(static_cast<size_t>(axis));
    const int64_t groups = channels.value() / std::max<int64_t>(own.value(), 1);
    weight = record_scaled(graph, weight, axis, by, groups);
    if (bias) bias = record_bias(graph, bias, by, nullptr);
  }
  if (change.bias_correction) {
    bias = record_bias(graph, bias, nullptr, graph.constant(*change.bias_correction));
  }
  while (!inputs.back()) inputs.pop_back();
  graph.set_inputs(&node, std::move(inputs));
  return graph.reinfer(&node);
}

}  // namespace qc
