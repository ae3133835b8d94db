#include "ir/capability.h"

#include <algorithm>

#include "kernels/numerics/base.h"

namespace qc {
namespace {

float as_float(const Tensor& t, int64_t i) { return static_cast<float>(t.as_double(i)); }

}  // namespace

IsClamp::Limits narrow(IsClamp::Limits before, IsClamp::Limits after) {
  auto limit = [&](double v) { return std::min(std::max(v, after.lo), after.hi); };
  return {limit(before.lo), limit(before.hi)};
}

Result<std::optional<Value*>> per_channel(Graph& graph, Value* constant, const Dims& shape,
                                          int64_t& axis) {
  using Found = std::optional<Value*>;
  if (!constant || !constant->is_constant() || !is_float(constant->dtype())) return Found{};
  const int64_t rank = static_cast<int64_t>(shape.size());
  const std::vector<int64_t> dims = graph.pool().shape(constant->constant());
  const int64_t lead = rank - static_cast<int64_t>(dims.size());
  if (lead < 0 || rank == 0) return Found{};
  int64_t varies = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (varies >= 0) return Found{};
    varies = static_cast<int64_t>(i) + lead;
  }
  if (axis < 0) axis = varies < 0 ? rank - 1 : varies;
  if (varies >= 0 && varies != axis) return Found{};
  const Dim& size = shape[static_cast<size_t>(axis)];
  if (!size.is_static() || size.value() < 1) return Found{};
  const int64_t channels = size.value();
  if (varies >= 0 && dims[static_cast<size_t>(varies - lead)] != channels) return Found{};

  auto pool = graph.shared_pool();
  const ConstId source = constant->constant();
  const ConstId id = pool->add_lazy(DType::f32, {channels}, pool->name(source),
                                    [p = pool.get(), source, channels]() -> Result<Tensor> {
                                      QC_ASSIGN(Tensor t, p->get(source));
                                      Tensor out(DType::f32, {channels});
                                      float* y = out.mutable_data<float>();
                                      for (int64_t i = 0; i < channels; ++i)
                                        y[i] = as_float(t, t.size() == 1 ? 0 : i);
                                      return out;
                                    });
  return Found{graph.constant(id)};
}

Value* record_scaled(Graph& graph, Value* weight, int64_t axis, Value* scale, int64_t groups) {
  ConstantPool* pool = &graph.pool();
  const ConstId w = weight->constant(), s = scale->constant();
  const std::vector<int64_t> shape = pool->shape(w);
  const ConstId id = pool->add_lazy(pool->dtype(w), shape, pool->name(w), [=]() -> Result<Tensor> {
    QC_ASSIGN(Tensor out, pool->get(w));
    QC_ASSIGN(Tensor by, pool->get(s));
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
    const int64_t size = shape[static_cast<size_t>(axis)];
    const int64_t rows = groups > 1 ? shape[0] / groups : shape[0];  // of axis 0 in one group
    const int64_t per_row = out.size() / std::max<int64_t>(shape[0], 1);
    auto channel_of = [&](int64_t i) {
      return i / inner % size + (groups > 1 ? i / per_row / rows * size : 0);
    };
    if (out.dtype() == DType::f32 && by.dtype() == DType::f32) {  // large: no per-element dispatch
      float* y = out.mutable_data<float>();
      for (int64_t i = 0; i < out.size(); i += inner) {
        const float factor = by.data<float>()[channel_of(i)];
        for (int64_t k = 0; k < inner; ++k) y[i + k] *= factor;
      }
      return out;
    }
    for (int64_t i = 0; i < out.size(); ++i) {
      const float value = as_float(out, i) * as_float(by, channel_of(i));
      out.set_double(i, static_cast<double>(value));
    }
    return out;
  });
  pool->made_from(id, w);
  return graph.constant(id);
}

Value* record_bias(Graph& graph, Value* bias, Value* scale, Value* shift) {
  ConstantPool* pool = &graph.pool();
  auto id_of = [](Value* v) { return v ? std::optional<ConstId>(v->constant()) : std::nullopt; };
  const auto b = id_of(bias), s = id_of(scale), t = id_of(shift);
  const ConstId source = b ? *b : t ? *t : *s;
  const int64_t channels = pool->shape(source).at(0);
  const DType dtype = b ? pool->dtype(*b) : DType::f32;
  const ConstId id = pool->add_lazy(dtype, {channels}, pool->name(source), [=]() -> Result<Tensor> {
    Tensor zeros(DType::f32, {1});
    auto read = [&](std::optional<ConstId> c) -> Result<Tensor> {
      if (!c) return zeros;
      return pool->get(*c);
    };
    QC_ASSIGN(Tensor add, read(t));
    QC_ASSIGN(Tensor base, read(b));
    QC_ASSIGN(Tensor by, read(s));
    Tensor out(dtype, {channels});
    for (int64_t i = 0; i < channels; ++i) {
      const float x = b ? as_float(base, i) : 0.0f;
      const float shifted = qn_fmaf(x, s ? as_float(by, i) : 1.0f, t ? as_float(add, i) : 0.0f);
      out.set_double(i, static_cast<double>(shifted));
    }
    return out;
  });
  return graph.constant(id);
}

}  // namespace qc
