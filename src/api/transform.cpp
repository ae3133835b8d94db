// Passes from outside the tree.
#include "api/state.h"
#include "driver/graph_edit.h"
#include "driver/node_views.h"

namespace quantc {

struct GraphEditor::State {
  qc::GraphEdit edit;
  std::mutex& work;
  qc::Budget& budget;

  /// Calls `f` while nothing else compiles: the pass itself may take as long as it wants.
  template <class F>
  auto alone(F&& f) const {
    const std::lock_guard lock(work);
    return converted(qc::within(&budget, f));
  }
  /// Runs the pass on the graph and on each body in it.
  static Expected<Done> apply(const Pass& pass, qc::Graph& graph, std::mutex& work,
                              qc::Budget& budget);
};

namespace {

ValueId id_of(const qc::Value* value) {
  return value ? static_cast<ValueId>(value->number()) : kNoValue;
}

int64_t readers_of(const qc::Value& value) {
  int64_t out = value.pinned();
  for (const qc::Use* u = value.first_use(); u; u = u->next) ++out;
  return out;
}

qc::Result<std::vector<qc::Value*>> values_of(const qc::GraphEdit& edit,
                                              const std::vector<ValueId>& ids) {
  std::vector<qc::Value*> out;
  for (ValueId id : ids) {
    qc::Value* value = nullptr;
    if (id != kNoValue) {
      QC_ASSIGN(value, edit.find(id));
    }
    out.push_back(value);
  }
  return out;
}

}  // namespace

std::vector<GraphNode> GraphEditor::nodes() const {
  std::vector<GraphNode> out;
  for (const qc::Node* n = state_.edit.graph().first(); n; n = n->next()) {
    GraphNode& node = out.emplace_back();
    static_cast<NodeView&>(node) = qc::view_of(*n);
    for (const qc::Value* v : n->inputs()) node.inputs.push_back(id_of(v));
    for (size_t i = 0; i < n->output_count(); ++i) node.outputs.push_back(id_of(n->output(i)));
  }
  return out;
}

std::vector<ValueId> GraphEditor::inputs() const {
  std::vector<ValueId> out;
  for (const qc::Value* v : state_.edit.graph().inputs()) out.push_back(id_of(v));
  return out;
}

std::vector<ValueId> GraphEditor::outputs() const {
  std::vector<ValueId> out;
  for (const qc::Output& o : state_.edit.graph().outputs()) out.push_back(id_of(o.value));
  return out;
}

Expected<ValueView> GraphEditor::value(ValueId value) const {
  return state_.alone([&]() -> qc::Result<ValueView> {
    QC_ASSIGN(const qc::Value* v, state_.edit.find(value));
    Port port = port_of(v->name(), v->type());
    return ValueView{std::move(port.name), std::move(port.type), std::move(port.shape),
                     v->is_constant(), readers_of(*v)};
  });
}

Expected<Array> GraphEditor::elements(ValueId constant) const {
  return state_.alone([&]() -> qc::Result<Array> {
    QC_ASSIGN(const qc::Value* v, state_.edit.find(constant));
    if (!v->is_constant()) {
      return qc::error(qc::Code::usage, "value {} is no constant: only runs know its elements",
                       constant);
    }
    QC_ASSIGN(const qc::Tensor elements, state_.edit.graph().pool().get(v->constant()));
    return array_of(v->name(), elements);
  });
}

Expected<ValueId> GraphEditor::constant(const ArrayView& array) {
  return state_.alone([&]() -> qc::Result<ValueId> {
    QC_ASSIGN(const qc::Tensor borrowed, tensor_of(array));
    qc::Tensor own(borrowed.dtype(), borrowed.shape());
    std::copy(borrowed.bytes().begin(), borrowed.bytes().end(), own.mutable_bytes().begin());
    QC_ASSIGN(const qc::Value* v, state_.edit.constant(std::move(own)));
    return id_of(v);
  });
}

Expected<std::vector<ValueId>> GraphEditor::insert(
    const std::string& op, const std::vector<ValueId>& inputs,
    const std::map<std::string, std::string>& attributes, const std::string& name) {
  return state_.alone([&]() -> qc::Result<std::vector<ValueId>> {
    QC_ASSIGN(auto operands, values_of(state_.edit, inputs));
    QC_ASSIGN(const qc::Node* n, state_.edit.insert(op, std::move(operands), attributes, name));
    std::vector<ValueId> out;
    for (size_t i = 0; i < n->output_count(); ++i) out.push_back(id_of(n->output(i)));
    return out;
  });
}

Expected<Done> GraphEditor::replace(ValueId from, ValueId to) {
  return state_.alone([&]() -> qc::Result<Done> {
    QC_ASSIGN(qc::Value * old, state_.edit.find(from));
    QC_ASSIGN(qc::Value * made, state_.edit.find(to));
    QC_TRY(state_.edit.replace(old, made));
    return Done{};
  });
}

Expected<Done> GraphEditor::erase(ValueId result) {
  return state_.alone([&]() -> qc::Result<Done> {
    QC_ASSIGN(const qc::Value* v, state_.edit.find(result));
    if (!v->def()) return qc::error(qc::Code::usage, "value {} is made by no node", result);
    QC_TRY(state_.edit.erase(v->def()));
    return Done{};
  });
}

Expected<Done> GraphEditor::State::apply(const Pass& pass, qc::Graph& graph, std::mutex& work,
                                         qc::Budget& budget) {
  State state{qc::GraphEdit(graph), work, budget};
  GraphEditor editor(state);
  if (auto done = pass.run(editor); !done) return done;
  auto finished = state.alone([&]() -> qc::Result<Done> {
    auto checked = state.edit.finish();
    if (checked.ok()) return Done{};
    qc::Diag diag = std::move(checked).diag();
    diag.notes.push_back("after pass '" + pass.name() + "'");
    return diag;
  });
  if (!finished) return finished;
  for (qc::Node* n = graph.first(); n; n = n->next()) {
    for (const auto& region : n->regions()) {
      if (auto done = apply(pass, *region, work, budget); !done) return done;
    }
  }
  return Done{};
}

Expected<Model> Model::transform(const Pass& pass) const {
  const Network& own = *state_->network;
  qc::Budget budget(state_->budget);
  auto network = std::make_shared<Network>();
  network->remarks = own.remarks;
  network->work = own.work;
  auto graph = state_->alone([&] { return qc::normalised(*own.graph, state_->options); });
  if (!graph) return graph.diagnostic();
  network->graph = std::move(*graph);
  auto state = std::make_unique<State>(std::move(network), state_->options, state_->budget);
  state->program_cache.warn(state_->program_cache.warnings());
  auto done = GraphEditor::State::apply(pass, *state->network->graph, *own.work, budget);
  if (!done) return done.diagnostic();
  return Model(std::move(state));
}

}  // namespace quantc
