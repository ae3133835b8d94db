// If and Loop. Their graphs become regions, which are isolated: what a graph reads from
// outside is an operand of the node and an input of the region.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "ir/op_table.h"

namespace qc::onnx {
namespace {

std::unique_ptr<Node> make(std::string_view op) {
  const OpEntry* entry = op_table().find(op);
  return entry ? entry->create() : nullptr;
}

Values outputs_of(const Node& node) {
  Values out;
  for (size_t i = 0; i < node.output_count(); ++i) out.push_back(node.output(i));
  return out;
}

std::vector<std::string_view> output_names(const GraphProto& graph) {
  std::vector<std::string_view> out;
  for (const ValueInfo& info : graph.outputs) out.push_back(info.name);
  return out;
}

}  // namespace

Importer::Handler Importer::control_flow(const NodeProto& node) {
  if (!node.domain.empty()) return nullptr;
  if (node.op_type == "If" && op_table().find("if")) return &Importer::if_node;
  if (node.op_type == "Loop" && op_table().find("loop")) return &Importer::loop_node;
  if (node.op_type == "Scan" && op_table().find("loop")) return &Importer::scan_node;
  return nullptr;
}

Result<const GraphProto*> Importer::graph_attribute(const NodeProto& node, std::string_view name,
                                                    const Env& env) const {
  for (const AttributeProto& a : node.attributes) {
    if (a.name == name && a.g) return a.g.get();
  }
  return error(Code::attribute, loc(node, env), "has no graph '{}'", name);
}

Result<Importer::Captures> Importer::captures(std::initializer_list<const GraphProto*> graphs,
                                              Scope& scope) {
  Captures out;
  for (const GraphProto* g : graphs) {
    for (std::string_view name : free_names(*g)) {
      if (std::ranges::find(out.names, name) != out.names.end()) continue;
      out.names.push_back(name);
      QC_ASSIGN(Value * value, scope.find(name));
      if (!value || value->is_constant()) continue;
      if (std::ranges::find(out.values, value) == out.values.end()) out.values.push_back(value);
    }
  }
  return out;
}

Result<Ok> Importer::bind_captures(const Captures& captures, Scope& outer, Scope& inner) {
  Graph& region = inner.graph();
  Values inputs;
  for (const Value* v : captures.values) inputs.push_back(region.add_input(v->name(), v->type()));
  for (std::string_view name : captures.names) {
    QC_ASSIGN(Value * value, outer.find(name));
    Value* bound = nullptr;
    if (value && value->is_constant()) {
      bound = region.constant(value->constant(), value->type().format);
    } else if (value) {
      bound = inputs[static_cast<size_t>(std::ranges::find(captures.values, value) -
                                         captures.values.begin())];
    }
    inner.define(name, bound);
  }
  return Ok{};
}

Result<Ok> Importer::region_outputs(const GraphProto& graph, Scope& inner, const Env& env) {
  QC_TRY(body(graph.nodes, output_names(graph), inner, env));
  for (const ValueInfo& info : graph.outputs) {
    QC_ASSIGN(Value * value, inner.find(info.name));
    if (!value)
      return error(Code::graph, file_loc(), "output '{}' is an omitted operand", info.name);
    inner.graph().add_output(std::string(info.name), value);
  }
  return Ok{};
}

Result<Values> Importer::in_place(const GraphProto& branch, Scope& scope, const Env& env) {
  Scope inner(scope.graph(), reader_, &scope);
  QC_TRY(inner.add_initializers(branch, file_loc()));
  QC_TRY(body(branch.nodes, output_names(branch), inner, env));
  Values out;
  for (const ValueInfo& info : branch.outputs) {
    QC_ASSIGN(Value * value, inner.find(info.name));
    out.push_back(value);
  }
  return out;
}

Result<Values> Importer::if_node(const NodeProto& node, Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  QC_ASSIGN(const GraphProto* then_graph, graph_attribute(node, "then_branch", env));
  QC_ASSIGN(const GraphProto* else_graph, graph_attribute(node, "else_branch", env));
  QC_ASSIGN(Values inputs, operands(scope, node.inputs));
  if (inputs.size() != 1 || !inputs[0]) return error(Code::graph, at, "takes one condition");
  if (inputs[0]->dtype() != DType::boolean) {
    return error(Code::type, at, "the condition must be bool, got {}", name(inputs[0]->dtype()));
  }
  if (inputs[0]->is_constant()) {
    QC_ASSIGN(Tensor condition, scope.graph().pool().get(inputs[0]->constant()));
    if (condition.size() != 1) {
      return error(Code::shape, at, "the condition must be one element, got {}", condition.size());
    }
    return in_place(condition.data<uint8_t>()[0] ? *then_graph : *else_graph, scope, env);
  }

  QC_ASSIGN(Captures captured, captures({then_graph, else_graph}, scope));
  std::unique_ptr<Node> made = make("if");
  for (const GraphProto* branch : {then_graph, else_graph}) {
    auto region = scope.graph().new_region();
    region->name = std::string(branch->name);
    region->file = model_.path;
    Scope inner(*region, reader_, &scope);
    QC_TRY(inner.add_initializers(*branch, at));
    QC_TRY(bind_captures(captured, scope, inner));
    QC_TRY(region_outputs(*branch, inner, env));
    region->sweep();
    made->add_region(std::move(region));
  }
  inputs.insert(inputs.end(), captured.values.begin(), captured.values.end());
  QC_ASSIGN(Node * added, scope.graph().add(std::move(made), std::move(inputs), at));
  return outputs_of(*added);
}

Result<Values> Importer::loop_node(const NodeProto& node, Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  QC_ASSIGN(const GraphProto* graph, graph_attribute(node, "body", env));
  QC_ASSIGN(Values inputs, operands(scope, node.inputs));
  if (inputs.size() < 2) inputs.resize(2);
  const size_t carried = inputs.size() - 2;
  if (graph->inputs.size() != carried + 2 || graph->outputs.size() < carried + 1) {
    return error(Code::graph, at, "carries {} values, but its body takes {} and gives {}", carried,
                 graph->inputs.size(), graph->outputs.size());
  }
  QC_ASSIGN(Captures captured, captures({graph}, scope));
  auto region = scope.graph().new_region();
  region->name = std::string(graph->name);
  region->file = model_.path;
  Scope inner(*region, reader_, &scope);
  QC_TRY(inner.add_initializers(*graph, at));
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    const std::string name(graph->inputs[i].name);
    Type type(i == 0 ? DType::i64 : DType::boolean, {});
    if (i >= 2) {
      if (!inputs[i]) return error(Code::graph, at, "carried value {} is omitted", i - 2);
      type = inputs[i]->type();
    }
    if (inner.visible(name)) {
      return error(Code::graph, at, "body input '{}' hides a value of the enclosing graph", name);
    }
    inner.define(graph->inputs[i].name, region->add_input(name, std::move(type)));
  }
  QC_TRY(bind_captures(captured, scope, inner));
  QC_TRY(region_outputs(*graph, inner, env));
  region->sweep();
  std::unique_ptr<Node> made = make("loop");
  QC_TRY(set_attrs(*made, {{"carried", static_cast<int64_t>(carried)}}, at));
  made->add_region(std::move(region));
  inputs.insert(inputs.end(), captured.values.begin(), captured.values.end());
  QC_ASSIGN(Node * added, scope.graph().add(std::move(made), std::move(inputs), at));
  return outputs_of(*added);
}

}  // namespace qc::onnx
