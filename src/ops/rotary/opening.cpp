// Norms of heads before a rotation, as part of it.
#include "ir/capability.h"
#include "ops/norm/norm.h"
#include "ops/rotary/rotary.h"
#include "quant/lifting.h"

namespace qc {
namespace {

/// The norm of f32 rows that gives `x`, where a rotation can take it in.
const Norm* norm_before(const Value* x) {
  const auto* norm = dynamic_cast<const Norm*>(x->def());
  if (!norm || norm->rows.kind != NormKind::rms || norm->statistics || norm->input(2) ||
      x->dtype() != DType::f32 || !x->has_one_use() || x->pinned() > 0)
    return nullptr;
  const bool rows = norm->rows.axis == -1 || norm->rows.axis == x->rank() - 1;
  const Value* gamma = norm->input(1);
  const bool plain = !gamma || (gamma->is_constant() && gamma->rank() == 1);
  return rows && plain && x->shape().back().is_static() ? norm : nullptr;
}

/// Of floats that others read a kernel for norms alone is the faster one on accelerators.
bool becomes_codes(const Value* y) {
  const auto users = y->users();
  return y->pinned() == 0 && !users.empty() &&
         std::all_of(users.begin(), users.end(),
                     [](Node* user) { return capability<MakesCodes>(user) != nullptr; });
}

}  // namespace

Result<Node*> Rotary::with_opening(Graph& graph) {
  const Norm* before = norm_before(input(0));
  if (turn.norm || turn.count >= 0 || !before || !becomes_codes(output())) return nullptr;
  auto made = std::make_unique<Rotary>(*this);
  made->turn.norm = true;
  made->turn.eps = before->rows.eps;
  return graph.add(std::move(made), {before->input(0), input(1), input(2), before->input(1)},
                   join(before->loc(), loc()), this);
}

Result<std::vector<Value*>> Rotary::joined_operands(Graph& graph, int64_t axis,
                                                    const std::vector<Node*>& nodes) const {
  std::vector<Value*> out{nodes[0]->input(1), nodes[0]->input(2)};
  const auto gamma = [](const Node* node) { return node->input(3); };
  if (std::all_of(nodes.begin(), nodes.end(),
                  [&](const Node* n) { return gamma(n) == gamma(nodes[0]); })) {
    out.push_back(gamma(nodes[0]));
    return out;
  }
  // A row for each index; without factors one of ones, which change nothing.
  const int64_t n = nodes[0]->input_type(0).shape.back().value();
  std::vector<float> rows;
  for (const Node* node : nodes) {
    const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
    Tensor own = Tensor::of<float>(DType::f32, {n}, ones);
    if (gamma(node)) {
      QC_ASSIGN(own, graph.pool().get(gamma(node)->constant()));
    }
    const int64_t count = node->input_type(0).shape[static_cast<size_t>(axis)].value();
    for (int64_t i = 0; i < count; ++i) {
      rows.insert(rows.end(), own.data<float>(), own.data<float>() + n);
    }
  }
  out.push_back(graph.constant(Tensor::of<float>(DType::f32, {std::ssize(rows) / n, n}, rows)));
  return out;
}

}  // namespace qc
