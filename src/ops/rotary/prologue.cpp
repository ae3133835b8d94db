// Norms of heads before a rotation, as part of it.
#include "ir/capability.h"
#include "ops/norm/norm.h"
#include "ops/rotary/rotary.h"
#include "quant/lifting.h"

namespace qc {
namespace {

bool makes_codes(Node* user) { return capability<MakesCodes>(user) != nullptr; }

/// What keeps a norm apart from the rotation that reads it; null where nothing does. Norm, rotation
/// and quantize become one kernel that stores codes alone. A rotation whose floats are read stores
/// them anyway: it and its norm stay ops, for which a target may have kernels of their own.
const char* what_keeps(const Norm& norm, const Value* rotated) {
  const Value *x = norm.output(), *gamma = norm.input(1);
  const auto users = rotated->users();
  if (rotated->pinned() > 0 || !std::all_of(users.begin(), users.end(), makes_codes))
    return "what it turns is read as floats, too";
  if (norm.statistics) return "its statistics are read too";
  if (!x->has_one_use() || x->pinned() > 0) return "others read its result too";
  if (norm.rows.kind != NormKind::rms || norm.input(2)) return "it has a mean or a shift";
  const bool rows = norm.rows.axis == -1 || norm.rows.axis == x->rank() - 1;
  if (!rows || !x->shape().back().is_static()) return "its rows are not those that turn";
  if (x->dtype() != DType::f32) return "it is not f32";
  const bool plain = !gamma || (gamma->is_constant() && gamma->rank() == 1);
  return plain ? nullptr : "its factors are found at run time";
}

}  // namespace

Result<Node*> Rotary::with_prologue(Graph& graph, std::string& reason) {
  const auto* before = dynamic_cast<const Norm*>(input(0)->def());
  const auto users = output()->users();
  if (!before || rotation.norm || rotation.count >= 0 || input(0)->index() != 0 ||
      std::none_of(users.begin(), users.end(), makes_codes))
    return nullptr;
  if (const char* why = what_keeps(*before, output())) {
    reason = why;
    return nullptr;
  }
  auto made = std::make_unique<Rotary>(*this);
  made->rotation.norm = true;
  made->rotation.eps = before->rows.eps;
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
