#include "ir/graph.h"

namespace qc {
namespace {

/// `defined` says of every value of the graph, by number, whether a node before this one makes it.
Result<Ok> verify_node(const Graph& graph, const Node* n, const std::vector<bool>& defined) {
  for (size_t i = 0; i < n->input_count(); ++i) {
    const Value* v = n->input(i);
    if (!v) continue;
    if (v->graph() != &graph)
      return error(Code::bug, n->loc(), "operand {} is of another graph", i);
    if (v->def() && !defined[v->number()]) {
      return error(Code::bug, n->loc(), "operand {} is used before it is defined", i);
    }
    bool listed = false;
    for (const Use* u = v->first_use(); u && !listed; u = u->next) {
      listed = u->user == n && u->index == i;
      if (u->next && u->next->prev != u) return error(Code::bug, n->loc(), "broken use list");
      if (v->is_constant()) listed = true;  // shared by very many users; links were checked by edit
    }
    if (!listed) return error(Code::bug, n->loc(), "operand {} is not in the use list", i);
  }
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
  for (const auto& region : n->regions()) QC_TRY(verify(*region));
  return Ok{};
}

}  // namespace

Result<Ok> verify(const Graph& graph) {
  std::vector<bool> defined(graph.value_bound(), false);
  size_t count = 0;
  for (const Node* n = graph.first(); n; n = n->next(), ++count) {
    if (n->graph() != &graph) return error(Code::bug, n->loc(), "node is of another graph");
    QC_TRY(verify_node(graph, n, defined));
    for (size_t i = 0; i < n->output_count(); ++i) defined[n->output(i)->number()] = true;
  }
  if (count != graph.node_count()) return error(Code::bug, "node list and count disagree");
  auto available = [&](const Value* v) {
    return v->graph() == &graph && (!v->def() || defined[v->number()]);
  };
  for (const Output& out : graph.outputs()) {
    if (!available(out.value)) return error(Code::bug, "output '{}' is not defined", out.name);
  }
  for (const State& state : graph.states()) {
    if (!available(state.out)) return error(Code::bug, "state '{}' is not defined", state.name);
    if (!(state.in->type() == state.out->type())) {
      return error(Code::bug, "state '{}' changes type from {} to {}", state.name,
                   str(state.in->type()), str(state.out->type()));
    }
  }
  return Ok{};
}

}  // namespace qc
