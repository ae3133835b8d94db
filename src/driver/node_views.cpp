#include "driver/node_views.h"

#include <algorithm>

#include "ir/op_table.h"

namespace qc {
namespace {

using quantc::NodeView;
using quantc::NodeViews;

NodeView::Operand operand_of(const Value* v) {
  NodeView::Operand out;
  if (!v) return out;
  out.type = name(v->dtype());
  for (const Dim& d : v->shape()) out.shape.push_back(d.is_static() ? d.value() : -1);
  out.constant = v->is_constant();
  out.name = v->name();
  return out;
}

NodeView port(const char* op, const std::string& name, const Value* value) {
  NodeView out;
  out.names = {name};
  out.op = op;
  out.results = {operand_of(value)};
  return out;
}

std::shared_ptr<const NodeViews> views(const Graph& graph,
                                       std::unordered_map<const Node*, size_t>& index) {
  auto out = std::make_shared<NodeViews>();
  std::unordered_map<const Value*, size_t> makers;
  for (const Value* v : graph.inputs()) {
    makers[v] = out->nodes.size();
    out->nodes.push_back(port("input", v->name(), v));
  }
  for (const State& s : graph.states()) {
    makers[s.in] = out->nodes.size();
    out->nodes.push_back(port("state", s.name, s.in));
  }
  out->producers.resize(out->nodes.size());
  out->users.resize(out->nodes.size());
  for (const Node* n = graph.first(); n; n = n->next()) {
    const size_t at = out->nodes.size();
    index[n] = at;
    out->nodes.push_back(view_of(*n));
    out->users.emplace_back();
    auto& producers = out->producers.emplace_back();
    for (const Value* v : n->inputs()) {
      const auto maker = makers.find(v);
      if (maker == makers.end()) continue;
      producers.push_back(maker->second);
      auto& users = out->users[maker->second];
      if (users.empty() || users.back() != at) users.push_back(at);
    }
    for (size_t i = 0; i < n->output_count(); ++i) makers[n->output(i)] = at;
  }
  return out;
}

}  // namespace

NodeView view_of(const Node& node) {
  NodeView out;
  out.names = node.loc().names;
  out.op = node.op();
  for (const auto& [name, value] : get_attrs(node, true)) out.attributes[name] = str(value);
  for (const Value* v : node.inputs()) out.operands.push_back(operand_of(v));
  for (size_t i = 0; i < node.output_count(); ++i)
    out.results.push_back(operand_of(node.output(i)));
  return out;
}

std::vector<NodeView> views_of(const Graph& graph) {
  std::vector<NodeView> out;
  NeighbourViews views;
  for (const Node* n = graph.first(); n; n = n->next()) out.push_back(views.of(*n));
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (const auto& region : n->regions()) {
      auto inner = views_of(*region);
      std::move(inner.begin(), inner.end(), std::back_inserter(out));
    }
  }
  return out;
}

NodeView NeighbourViews::of(const Node& node) {
  const Graph& graph = *node.graph();
  const Last now{&graph, graph.node_count(), graph.value_bound()};
  if (!(now == last_) || !index_.count(&node)) {
    index_.clear();
    views_ = views(graph, index_);
    last_ = now;
  }
  const size_t at = index_.at(&node);
  NodeView out = views_->nodes[at];
  out.all = views_;
  out.at = at;
  return out;
}

}  // namespace qc
