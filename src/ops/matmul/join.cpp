#include <fmt/format.h>

#include <algorithm>

#include "ops/matmul/qmatmul.h"

namespace qc {
namespace {

/// What results must have in common: codes with one scale each may have another scale and zero
/// point, which become those of their channels.
std::string result_key(const QType& to) {
  if (!to.format || to.format->granularity != Granularity::tensor) return str(to);
  const Format& f = *to.format;
  return fmt::format("{} {}..{} {}", name(to.dtype), f.qmin, f.qmax, name(f.scale.values.dtype()));
}

}  // namespace

std::string_view QLinear::unmerged_because() const {
  const Value* bias = input(2);
  const bool one_scale = input_type(1).format->granularity == Granularity::tensor;
  return to.format && bias && bias->dtype() == DType::f32 && one_scale
             ? "its float bias is multiplied with one number for all accumulators, and would be "
               "with one "
               "for each channel"
             : "";
}

/// Rows of weights and channels of the result stand for themselves, so that everything else must
/// be equal. A bias of 0 in place of none would make of a result of -0 a 0.
std::vector<InCommon> QLinear::in_common() const {
  const Type& w = input_type(1);
  const Format& f = *w.format;
  const Value* bias = input(2);
  const bool groups = f.granularity == Granularity::group;
  return {{"codes of weights", fmt::format("{} {}..{}", name(w.dtype), f.qmin, f.qmax)},
          {"scales of weights",
           fmt::format("{} for {}", name(f.scale.values.dtype()),
                       groups ? fmt::format("groups of {}", f.group) : "channels")},
          {"result", result_key(to)},
          {"arithmetic", arithmetic},
          {"limits", fmt::format("{}..{}", lo, hi)},
          {"bias", bias ? std::string(name(bias->dtype())) : "none"},
          {"accumulators", is_weight_only() ? "f32" : std::string(name(accumulator().type))}};
}

Result<Node*> QLinear::join(Graph& graph, const std::vector<Node*>& products, Node* before) const {
  std::vector<ConstId> weights, biases;
  std::vector<const Type*> types, results;
  for (const Node* n : products) {
    weights.push_back(n->input(1)->constant());
    types.push_back(&n->input_type(1));
    results.push_back(&n->output()->type());
    if (n->input(2)) biases.push_back(n->input(2)->constant());
  }
  std::vector<Value*> operands = inputs();
  operands[1] = graph.constant(joined_rows(graph.pool(), weights), joined_format(types));
  if (!biases.empty()) operands[2] = graph.constant(joined_rows(graph.pool(), biases));
  auto whole = std::make_unique<QLinear>(*this);
  const bool same = std::all_of(results.begin(), results.end(), [&](const Type* type) {
    return type->quant() == results[0]->quant();
  });
  if (!same) whole->to.format = joined_format(results, output()->rank() - 1);
  return graph.add(std::move(whole), std::move(operands), loc(), before);
}

}  // namespace qc
