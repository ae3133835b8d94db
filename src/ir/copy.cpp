#include "ir/graph.h"

namespace qc {

Result<std::unique_ptr<Graph>> copy(const Graph& graph) {
  auto out = graph.new_region();
  out->name = graph.name;
  out->file = graph.file;
  out->dim_ranges = graph.dim_ranges;
  out->guards = graph.guards;
  std::vector<Value*> map(graph.value_bound(), nullptr);  // by number
  for (const Value* v : graph.inputs()) map[v->number()] = out->add_input(v->name(), v->type());
  for (const State& s : graph.states()) map[s.in->number()] = out->add_state(s.name, s.initial);
  auto mapped = [&](const Value* v) -> Value* {
    if (!v) return nullptr;
    return v->is_constant() ? out->constant(v->constant(), v->type().format) : map[v->number()];
  };
  for (const Node* n = graph.first(); n; n = n->next()) {
    std::unique_ptr<Node> node = n->clone();
    for (const auto& region : n->regions()) {
      QC_ASSIGN(auto body, copy(*region));
      node->add_region(std::move(body));
    }
    std::vector<Value*> inputs;
    for (size_t i = 0; i < n->input_count(); ++i) inputs.push_back(mapped(n->input(i)));
    QC_ASSIGN(Node * added, out->add(std::move(node), std::move(inputs), n->loc()));
    for (size_t i = 0; i < n->output_count(); ++i) {
      map[n->output(i)->number()] = added->output(i);
      out->set_type(added->output(i), n->output(i)->type());
      out->set_name(added->output(i), n->output(i)->name());
      out->set_note(added->output(i), n->output(i)->note());
    }
  }
  for (const Output& o : graph.outputs()) out->add_output(o.name, mapped(o.value));
  for (size_t i = 0; i < graph.states().size(); ++i) {
    out->set_state_out(i, mapped(graph.states()[i].out));
  }
  return out;
}

}  // namespace qc
