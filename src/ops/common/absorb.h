// Constants recorded when a scale and shift moves into the weights of an op that is linear in its
// first operand.
#pragma once

#include "ir/capability.h"
#include "kernels/numerics/base.h"

namespace qc {

/// Whether weights and bias of a node (operands 1 and 2) are f32 constants it may change.
inline bool has_constant_weights(const Node& node) {
  auto constant = [&](size_t i) {
    const Value* v = node.input(i);
    return v->is_constant() && v->dtype() == DType::f32 && !v->type().format;
  };
  return constant(1) && (!node.input(2) || constant(2));
}

/// A recorded constant [outputs]: bias[o] plus the sum over the row o of `weight` (outputs first,
/// then inputs) of weight * shift, shift being per input; `inputs` of them repeat for each of
/// `groups`.
inline Value* record_shifted_bias(Graph& graph, Value* weight, Value* bias, Value* shift,
                                  int64_t groups) {
  const auto pool = graph.shared_pool();
  const ConstId w = weight->constant(), s = shift->constant();
  const std::optional<ConstId> b = bias ? std::optional(bias->constant()) : std::nullopt;
  const std::vector<int64_t> shape = pool->shape(w);
  ConstantPool* constants = pool.get();
  const ConstId id =
      pool->add_lazy(DType::f32, {shape[0]}, pool->name(w) + ".bias", [=]() -> Result<Tensor> {
        QC_ASSIGN(Tensor weights, constants->get(w));
        QC_ASSIGN(Tensor shifts, constants->get(s));
        Tensor out(DType::f32, {shape[0]});
        float* y = out.mutable_data<float>();
        if (b) {
          QC_ASSIGN(Tensor old, constants->get(*b));
          for (int64_t o = 0; o < shape[0]; ++o) y[o] = old.data<float>()[o];
        }
        const int64_t inputs = shape[1], row = shape[0] > 0 ? weights.size() / shape[0] : 0;
        const int64_t taps = inputs > 0 ? row / inputs : 0;
        for (int64_t o = 0; o < shape[0]; ++o) {
          const float* from = shifts.data<float>() + o / (shape[0] / groups) * inputs;
          for (int64_t i = 0; i < row; ++i) {
            y[o] = qn_fmaf(weights.data<float>()[o * row + i], from[i / taps], y[o]);
          }
        }
        return out;
      });
  return graph.constant(id);
}

}  // namespace qc
