// Scan as a loop: each trip gathers its slices of the scanned values, and stacked results are
// reversed and transposed afterwards where the model asks for it.
#include <algorithm>
#include <limits>

#include "frontends/onnx/importer.h"
#include "ir/op_table.h"

namespace qc::onnx {
namespace {

constexpr int64_t kMaxBatch = 64;

/// What ONNX's op of that name gives.
Result<Value*> add(Graph& graph, const Loc& loc, std::string_view op, Values inputs,
                   OnnxArgs args = {}) {
  QC_ASSIGN(Values results, add_onnx(graph, loc, op, std::move(inputs), std::move(args)));
  return results.at(0);
}

Value* integers(Graph& graph, Ints values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return graph.constant(Tensor::of<int64_t>(DType::i64, {n}, values));
}
Value* integer(Graph& graph, int64_t value) {
  return graph.constant(Tensor::of<int64_t>(DType::i64, {}, {{value}}));
}

/// A list attribute of one entry per scanned value; zeros when it is absent.
Result<Ints> per_value(const AttributeProto* a, size_t count, const Loc& loc) {
  if (!a) return Ints(count, 0);
  if (a->ints.size() != count) {
    return error(Code::attribute, loc, "'{}' has {} entries for {} values", a->name, a->ints.size(),
                 count);
  }
  return a->ints;
}

Result<Value*> arranged(Graph& graph, const Loc& loc, Value* stack, int64_t axis, bool reversed) {
  if (reversed) {
    QC_ASSIGN(stack, add(graph, loc, "Slice",
                         {stack, integers(graph, {-1}),
                          integers(graph, {std::numeric_limits<int64_t>::min()}),
                          integers(graph, {0}), integers(graph, {-1})}));
  }
  QC_ASSIGN(axis, resolve_axis(axis, stack->rank(), loc));
  if (axis == 0) return stack;
  Ints perm;
  for (int64_t i = 1; i < stack->rank(); ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  return add(graph, loc, "Transpose", {stack}, {{"perm", perm}});
}

}  // namespace

Result<Values> Importer::scan_node(const NodeProto& node, Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  QC_ASSIGN(Values inputs, operands(scope, node.inputs));
  QC_ASSIGN(const int opset, version("", env, at));
  const AttributeProto* count = env.find(node, "num_scan_inputs");
  const int64_t scanned = count ? count->i : 0;
  const int64_t skip = opset < 9 ? 1 : 0;  // version 8 starts with the lengths of the sequences
  const int64_t states = static_cast<int64_t>(inputs.size()) - skip - scanned;
  if (scanned < 1 || states < 0 || std::count(inputs.begin() + skip, inputs.end(), nullptr) > 0) {
    return error(Code::graph, at, "scans {} of {} operands", scanned, inputs.size());
  }
  if (skip == 0) return scan(node, inputs, static_cast<size_t>(states), scope, env);

  // Version 8 has a batch in front of everything: one scan for each of its elements.
  if (inputs[0]) return error(Code::unsupported, at, "lengths of sequences are not supported");
  Graph& graph = scope.graph();
  const Dim batch = inputs[1]->rank() > 0 ? inputs[1]->shape()[0] : Dim(0);
  if (!batch.is_static() || batch.value() < 1 || batch.value() > kMaxBatch) {
    return error(Code::unsupported, at, "a batch of {}; it must be 1 to {}", batch.str(),
                 kMaxBatch);
  }
  std::vector<Values> parts;
  for (int64_t b = 0; b < batch.value(); ++b) {
    Values element;
    for (size_t i = 1; i < inputs.size(); ++i) {
      QC_ASSIGN(Value * v, add(graph, at, "Gather", {inputs[i], integer(graph, b)}));
      element.push_back(v);
    }
    QC_ASSIGN(Values results, scan(node, element, static_cast<size_t>(states), scope, env));
    for (size_t i = 0; i < results.size(); ++i) {
      if (parts.size() <= i) parts.emplace_back();
      QC_ASSIGN(Value * v, add(graph, at, "Unsqueeze", {results[i], integers(graph, {0})}));
      parts[i].push_back(v);
    }
  }
  Values out;
  for (const Values& part : parts) {
    QC_ASSIGN(Value * v, add(graph, at, "Concat", part, {{"axis", int64_t{0}}}));
    out.push_back(v);
  }
  return out;
}

Result<Values> Importer::scan(const NodeProto& node, const Values& inputs, size_t states,
                              Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  Graph& graph = scope.graph();
  QC_ASSIGN(const GraphProto* proto, graph_attribute(node, "body", env));
  const size_t scanned = inputs.size() - states;
  if (proto->inputs.size() != inputs.size() || proto->outputs.size() < states) {
    return error(Code::graph, at,
                 "its body takes {} values and gives {}, expected {} and at least {}",
                 proto->inputs.size(), proto->outputs.size(), inputs.size(), states);
  }
  const size_t stacks = proto->outputs.size() - states;
  const AttributeProto* directions = env.find(node, "scan_input_directions");
  if (!directions) directions = env.find(node, "directions");
  QC_ASSIGN(Ints in_axes, per_value(env.find(node, "scan_input_axes"), scanned, at));
  QC_ASSIGN(Ints in_reverse, per_value(directions, scanned, at));
  QC_ASSIGN(Ints out_axes, per_value(env.find(node, "scan_output_axes"), stacks, at));
  QC_ASSIGN(Ints out_reverse, per_value(env.find(node, "scan_output_directions"), stacks, at));
  for (size_t j = 0; j < scanned; ++j) {
    QC_ASSIGN(in_axes[j], resolve_axis(in_axes[j], inputs[states + j]->rank(), at));
  }
  const Dim trips = inputs[states]->shape()[static_cast<size_t>(in_axes[0])];
  QC_ASSIGN(Value * shape, add(graph, at, "Shape", {inputs[states]}));
  QC_ASSIGN(Value * limit, add(graph, at, "Gather", {shape, integer(graph, in_axes[0])}));

  QC_ASSIGN(Captures captured, captures({proto}, scope));
  auto region = graph.new_region();
  region->name = std::string(proto->name);
  region->file = model_.path;
  Scope inner(*region, reader_, &scope);
  QC_TRY(inner.add_initializers(*proto, at));
  Value* trip = region->add_input("", Type(DType::i64, {}));
  region->add_input("", Type(DType::boolean, {}));
  for (size_t i = 0; i < states; ++i) {
    const ValueInfo& info = proto->inputs[i];
    inner.define(info.name, region->add_input(std::string(info.name), inputs[i]->type()));
  }
  QC_TRY(bind_captures(captured, scope, inner));
  Values whole = captured.values;
  for (size_t j = 0; j < scanned; ++j) {
    Value* from = inputs[states + j];
    const Dim size = from->shape()[static_cast<size_t>(in_axes[j])];
    if (!(size == trips)) {
      return error(Code::shape, at, "scans {} and {} slices", trips.str(), size.str());
    }
    Value* x = nullptr;
    if (from->is_constant()) {
      x = region->constant(from->constant(), from->type().format);
    } else {
      x = region->add_input(from->name(), from->type());
      whole.push_back(from);
    }
    Value* index = trip;
    if (in_reverse[j] != 0) {
      if (!size.is_static()) return error(Code::dim, at, "scans backwards over {}", size.str());
      QC_ASSIGN(index, add(*region, at, "Sub", {integer(*region, size.value() - 1), trip}));
    }
    QC_ASSIGN(Value * slice, add(*region, at, "Gather", {x, index}, {{"axis", in_axes[j]}}));
    inner.define(proto->inputs[states + j].name, slice);
  }
  Tensor yes(DType::boolean, {});
  yes.set_int(0, 1);
  region->add_output("", region->constant(std::move(yes)));
  QC_TRY(region_outputs(*proto, inner, env));
  region->sweep();

  const OpEntry* entry = op_table().find("loop");
  std::unique_ptr<Node> made = entry->create();
  QC_TRY(set_attrs(*made, {{"carried", static_cast<int64_t>(states)}}, at));
  made->add_region(std::move(region));
  Values loop_inputs = {limit, nullptr};
  loop_inputs.insert(loop_inputs.end(), inputs.begin(),
                     inputs.begin() + static_cast<std::ptrdiff_t>(states));
  loop_inputs.insert(loop_inputs.end(), whole.begin(), whole.end());
  QC_ASSIGN(Node * added, graph.add(std::move(made), std::move(loop_inputs), at));
  Values out;
  for (size_t i = 0; i < states; ++i) out.push_back(added->output(i));
  for (size_t k = 0; k < stacks; ++k) {
    QC_ASSIGN(Value * v,
              arranged(graph, at, added->output(states + k), out_axes[k], out_reverse[k] != 0));
    out.push_back(v);
  }
  return out;
}

}  // namespace qc::onnx
