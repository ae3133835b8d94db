#include "ir/verify.h"

#include "support/budget.h"

namespace qc {
namespace {

/// Every use in the value's list must be an operand that reads it, linked both ways. With as many
/// uses as there are operands, each operand is listed once.
Result<Ok> verify_uses(const Value* v, size_t operands) {
  size_t listed = 0;
  for (const Use* u = v->first_use(); u; u = u->next, ++listed) {
    if (u->next && u->next->prev != u) return error(Code::bug, "broken use list");
    if (u->value != v || u->user->input(u->index) != v)
      return error(Code::bug, u->user->loc(), "operand {} is not what its use says", u->index);
  }
  if (listed == operands) return Ok{};
  return error(Code::bug, v->def() ? v->def()->loc() : Loc{},
               "{} operands read a value whose use list has {}", operands, listed);
}

/// `defined` says of every value of the graph, by number, whether a node before this one makes it.
Result<Ok> verify_operands(const Graph& graph, const Node* n, const std::vector<bool>& defined) {
  for (size_t i = 0; i < n->input_count(); ++i) {
    const Value* v = n->input(i);
    if (!v) continue;
    if (v->graph() != &graph)
      return error(Code::bug, n->loc(), "operand {} is of another graph", i);
    if (v->def() && !defined[v->number()]) {
      return error(Code::bug, n->loc(), "operand {} is used before it is defined", i);
    }
  }
  for (const auto& region : n->regions()) QC_TRY(verify_links(*region));
  return Ok{};
}

Result<Ok> verify_types(const Graph& graph);

Result<Ok> verify_node(const Graph& graph, const Node* n) {
  const Doing doing("checking the graph", &n->loc());
  spend(Cost::work, kNodeWork + 16 * static_cast<int64_t>(n->input_count()));
  QC_ASSIGN(auto types, n->infer());
  if (types.size() != n->output_count()) {
    return error(Code::bug, n->loc(), "has {} outputs, inference says {}", n->output_count(),
                 types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    types[i].layout = n->output(i)->type().layout;
    if (!(types[i] == n->output(i)->type())) {
      return error(Code::bug, n->loc(), "output {} is {}, inference says {}", i,
                   str(n->output(i)->type()), str(types[i]));
    }
  }
  for (const auto& region : n->regions()) {
    if (region->dot != graph.dot) {
      return error(Code::bug, n->loc(), "a region sums dot products by {}, the graph by {}",
                   name(region->dot), name(graph.dot));
    }
    QC_TRY(verify_types(*region));
  }
  return Ok{};
}

Result<Ok> verify_types(const Graph& graph) {
  for (const Node* n = graph.first(); n; n = n->next()) QC_TRY(verify_node(graph, n));
  for (const State& state : graph.states()) {
    if (!(state.in->type() == state.out->type())) {
      return error(Code::bug, "state '{}' changes type from {} to {}", state.name,
                   str(state.in->type()), str(state.out->type()));
    }
  }
  return Ok{};
}

}  // namespace

Result<Ok> verify_links(const Graph& graph) {
  std::vector<bool> defined(graph.value_bound(), false);
  std::vector<size_t> operands(graph.value_bound(), 0);
  size_t count = 0;
  for (const Node* n = graph.first(); n; n = n->next(), ++count) {
    if (n->graph() != &graph) return error(Code::bug, n->loc(), "node is of another graph");
    QC_TRY(verify_operands(graph, n, defined));
    for (size_t i = 0; i < n->output_count(); ++i) defined[n->output(i)->number()] = true;
    for (size_t i = 0; i < n->input_count(); ++i) {
      if (n->input(i)) ++operands[n->input(i)->number()];
    }
  }
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i)
      QC_TRY(verify_uses(n->output(i), operands[n->output(i)->number()]));
  }
  for (const Value* v : graph.inputs()) QC_TRY(verify_uses(v, operands[v->number()]));
  for (const State& s : graph.states()) QC_TRY(verify_uses(s.in, operands[s.in->number()]));
  if (count != graph.node_count()) return error(Code::bug, "node list and count disagree");
  auto available = [&](const Value* v) {
    return v->graph() == &graph && (!v->def() || defined[v->number()]);
  };
  for (const Output& out : graph.outputs()) {
    if (!available(out.value)) return error(Code::bug, "output '{}' is not defined", out.name);
  }
  for (const State& state : graph.states()) {
    if (!available(state.out)) return error(Code::bug, "state '{}' is not defined", state.name);
  }
  return Ok{};
}

Result<Ok> verify(const Graph& graph) {
  QC_TRY(verify_links(graph));
  return verify_types(graph);
}

}  // namespace qc
