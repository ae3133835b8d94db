#include "quant/constants.h"

#include <cmath>

#include "kernels/numerics/quant.h"
#include "quant/groups.h"

namespace qc {

Value* quantized_constant(Graph& graph, Value* constant, const QType& type) {
  ConstantPool* pool = &graph.pool();
  const ConstId source = constant->constant();
  const std::vector<int64_t> shape = pool->shape(source);
  auto make = [pool, source, shape, type]() -> Result<Tensor> {
    QC_ASSIGN(const Tensor x, pool->get(source));
    const Format& f = *type.format;
    Tensor codes(type.dtype, shape);
    Groups(Type(type, to_dims(shape))).for_each([&](int64_t i, int64_t g) {
      codes.set_int(i, qn_quantize(x.data<float>()[i], f.scale_at(g), f.zero_at(g),
                                   static_cast<int32_t>(f.qmin), static_cast<int32_t>(f.qmax)));
    });
    return codes;
  };
  const ConstId id = pool->add_lazy(type.dtype, shape, pool->name(source), std::move(make));
  return graph.constant(id, type.format);
}

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
  if (scheme.scale) {
    format->scale = Component::of(*scheme.scale);
  } else {
    QC_ASSIGN(const Tensor w, graph.pool().get(constant->constant()));
    std::vector<float> largest;
    Groups(type).for_each([&](int64_t i, int64_t g) {
      const size_t at = static_cast<size_t>(g);
      if (largest.size() <= at) largest.resize(at + 1, 0.0f);
      largest[at] = std::max(largest[at], std::abs(w.data<float>()[i]));
    });
    for (float& v : largest) {
      v = v / static_cast<float>(scheme.qmax);
      if (!(v > 0)) v = 1.0f;
      if (!std::isfinite(v)) return error(Code::quant, loc, "weights are not finite numbers");
    }
    if (largest.empty()) largest.push_back(1.0f);
    const bool one = scheme.granularity == Granularity::tensor;
    format->scale = Component::of(Tensor::of<float>(
        DType::f32, one ? Ints{} : Ints{static_cast<int64_t>(largest.size())}, largest));
  }
  QC_TRY(check_format(type, loc));
  return type.quant();
}

}  // namespace qc
