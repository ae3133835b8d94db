// cond, while_loop, scan and map_impl. Their bodies take every operand explicitly, so each becomes
// an isolated region.
#include "frontends/pt2/context.h"
#include "ir/op_table.h"

namespace qc::pt2 {
namespace {

/// The arguments of a higher-order op, which have no names.
struct Operands {
  std::vector<const ExportedGraph*> bodies;
  std::vector<Values> lists;  // each list argument, and each lone tensor as a list of one
};

Diag broken(const Loc& loc, std::string_view why) { return error(Code::graph, loc, "{}", why); }

Result<Operands> operands(Context& context, const ExportedNode& node, const Loc& loc) {
  Operands out;
  for (const NamedArgument& input : node.inputs) {
    if (input.arg.kind == ArgKind::graph) {
      out.bodies.push_back(input.arg.graph.get());
      continue;
    }
    if (input.arg.is_list() && input.arg.items.empty()) {
      out.lists.emplace_back();
      continue;
    }
    QC_ASSIGN(auto arg, convert(context, input.arg, loc));
    if (!arg) continue;
    if (auto* value = std::get_if<Value*>(&*arg)) {
      out.lists.push_back({*value});
    } else if (auto* values = std::get_if<Values>(&*arg)) {
      out.lists.push_back(*values);
    } else if (auto* flag = std::get_if<bool>(&*arg)) {
      Tensor one(DType::boolean, {});
      one.set_int(0, *flag);
      out.lists.push_back({context.graph.constant(std::move(one))});
    } else {
      return error(Code::unsupported, loc, "operands that are no tensors are not supported");
    }
  }
  return out;
}

/// Imports a body's nodes into `graph`, with these values as its inputs.
Result<Values> import_body(const Context& outer, const ExportedGraph& body, const Values& inputs,
                           Graph& graph, const Loc& loc) {
  QC_ASSIGN(Plan plan, make_plan(body, {}, outer.plan.file));
  Context context(plan, graph, outer.model, outer.bindings);
  if (inputs.size() != body.inputs.size()) return broken(loc, "operands do not match the body");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (body.inputs[i].kind != ArgKind::tensor) {
      return error(Code::unsupported, loc, "bodies with operands that are no tensors");
    }
    const std::string& name = body.inputs[i].items[0].text;
    CellId cell = context.memory.allocate(inputs[i], context.meta_of(name));
    QC_TRY(context.define(name, cell, loc));
  }
  QC_TRY(context.import_nodes());
  Values results;
  for (const Argument& output : plan.flat.outputs) {
    if (output.kind != ArgKind::tensor) {
      return error(Code::unsupported, loc, "bodies with results that are no tensors");
    }
    QC_ASSIGN(Value * value, context.read(output.items[0].text, loc));
    results.push_back(value);
  }
  return results;
}

/// Values a region sees: constants are its own, others are operands of the node.
class Captures {
 public:
  explicit Captures(const Values& values) : values_(values) {
    for (Value* v : values_) {
      if (!v->is_constant()) operands_.push_back(v);
    }
  }
  const Values& operands() const { return operands_; }
  /// Adds the region's inputs and returns what it sees, in order.
  Values bind(Graph& region) const {
    Values out;
    for (Value* v : values_) {
      out.push_back(v->is_constant() ? region.constant(v->constant(), v->type().format)
                                     : region.add_input(v->name(), v->type()));
    }
    return out;
  }

 private:
  Values values_, operands_;
};

Values concat(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Values outputs_of(const Node& node) {
  Values out;
  for (size_t i = 0; i < node.output_count(); ++i) out.push_back(node.output(i));
  return out;
}

Result<std::unique_ptr<Node>> make(std::string_view op, const Loc& loc) {
  const OpEntry* entry = op_table().find(op);
  if (entry == nullptr) return error(Code::unsupported_op, loc, "there is no op '{}'", op);
  return entry->create();
}

std::unique_ptr<Graph> new_region(const Context& context, std::string name) {
  auto region = context.graph.new_region();
  region->name = std::move(name);
  region->file = context.plan.file;
  return region;
}

void set_outputs(Graph& region, const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) region.add_output("r" + std::to_string(i), values[i]);
  region.sweep();
}

/// cond(pred, true, false, [operands])
Result<Values> cond(Context& context, const Operands& in, const Loc& loc) {
  if (in.bodies.size() != 2 || in.lists.size() != 2 || in.lists[0].size() != 1) {
    return broken(loc, "cond takes a condition, two bodies and operands");
  }
  Value* condition = in.lists[0][0];
  if (auto known = known_ints(condition); known && known->size() == 1 && (*known)[0].is_static()) {
    return import_body(context, *in.bodies[(*known)[0].value() != 0 ? 0 : 1], in.lists[1],
                       context.graph, loc);
  }
  QC_ASSIGN(auto node, make("if", loc));
  Captures captures(in.lists[1]);
  for (const ExportedGraph* body : in.bodies) {
    auto region = new_region(context, body == in.bodies[0] ? "then" : "else");
    QC_ASSIGN(Values results, import_body(context, *body, captures.bind(*region), *region, loc));
    set_outputs(*region, results);
    node->add_region(std::move(region));
  }
  QC_ASSIGN(Node * added,
            context.graph.add(std::move(node), concat({condition}, captures.operands()), loc));
  return outputs_of(*added);
}

/// A loop node: `trips` (or null) and `condition` (or null), carried values, captures.
Result<Values> add_loop(Context& context, std::unique_ptr<Graph> region, Value* trips,
                        Value* condition, const Values& carried, const Captures& captures,
                        const Loc& loc) {
  QC_ASSIGN(auto node, make("loop", loc));
  QC_TRY(set_attrs(*node, {{"carried", static_cast<int64_t>(carried.size())}}, loc));
  node->add_region(std::move(region));
  Values inputs = concat(concat({trips, condition}, carried), captures.operands());
  QC_ASSIGN(Node * added, context.graph.add(std::move(node), std::move(inputs), loc));
  return outputs_of(*added);
}

Values add_inputs(Graph& region, const Values& like) {
  Values out;
  for (Value* v : like) out.push_back(region.add_input(v->name(), v->type()));
  return out;
}

/// while_loop(cond, body, [carried], [extra])
Result<Values> while_loop(Context& context, const Operands& in, const Loc& loc) {
  if (in.bodies.size() != 2 || in.lists.size() != 2) {
    return broken(loc, "while_loop takes two bodies and two lists");
  }
  const Values &carried = in.lists[0], &extra = in.lists[1];
  QC_ASSIGN(Values first,
            import_body(context, *in.bodies[0], concat(carried, extra), context.graph, loc));
  if (first.size() != 1) return broken(loc, "the condition of while_loop is not one value");
  auto region = new_region(context, "body");
  region->add_input("trip", Type(DType::i64, {}));
  region->add_input("condition", Type(DType::boolean, {}));
  Values inner = add_inputs(*region, carried);
  Captures captures(extra);
  Values seen = captures.bind(*region);
  QC_ASSIGN(Values next, import_body(context, *in.bodies[1], concat(inner, seen), *region, loc));
  if (next.size() != carried.size()) return broken(loc, "while_loop's body loses a value");
  QC_ASSIGN(Values again, import_body(context, *in.bodies[0], concat(next, seen), *region, loc));
  set_outputs(*region, concat(again, next));
  return add_loop(context, std::move(region), nullptr, first[0], carried, captures, loc);
}

/// Element `trip` along the first axis.
Result<Value*> element(Graph& graph, Value* list, Value* trip, const Loc& loc) {
  QC_ASSIGN(Value * index,
            call_aten(graph, "reshape.default", {{"self", trip}, {"shape", Ints{1}}}, loc));
  QC_ASSIGN(Value * row, call_aten(graph, "index_select.default",
                                   {{"self", list}, {"dim", int64_t{0}}, {"index", index}}, loc));
  return call_aten(graph, "squeeze.dim", {{"self", row}, {"dim", int64_t{0}}}, loc);
}

/// scan(body, [init], [xs], [extra]); map_impl(body, [xs], [extra]) is a scan that carries nothing.
Result<Values> scan(Context& context, Operands in, bool map, const Loc& loc) {
  if (map) in.lists.insert(in.lists.begin(), Values{});
  if (in.bodies.size() != 1 || in.lists.size() < 2 || in.lists[1].empty()) {
    return broken(loc, "scan and map take one body and lists of tensors");
  }
  in.lists.resize(3);
  const Values &carried = in.lists[0], &lists = in.lists[1];
  for (Value* v : lists) {
    if (v->rank() == 0) return error(Code::shape, loc, "a list to scan has no axis");
  }
  auto region = new_region(context, "body");
  Value* trip = region->add_input("trip", Type(DType::i64, {}));
  region->add_input("condition", Type(DType::boolean, {}));
  Values inner = add_inputs(*region, carried);
  Captures captures(concat(lists, in.lists[2]));
  Values seen = captures.bind(*region), operands = inner;
  for (size_t i = 0; i < seen.size(); ++i) {
    Value* operand = seen[i];
    if (i < lists.size()) {
      QC_ASSIGN(operand, element(*region, seen[i], trip, loc));
    }
    operands.push_back(operand);
  }
  QC_ASSIGN(Values results, import_body(context, *in.bodies[0], operands, *region, loc));
  Tensor yes(DType::boolean, {});
  yes.set_int(0, 1);
  set_outputs(*region, concat({region->constant(std::move(yes))}, results));
  ForeignNode node;
  node.loc = loc;
  node.args = {{"n", lists[0]->shape()[0]}};
  QC_ASSIGN(Value * trips, Import(context.graph, node).tensor("n"));
  return add_loop(context, std::move(region), trips, nullptr, carried, captures, loc);
}

}  // namespace

Result<Values> import_control_flow(Context& context, const ExportedNode& node, const Loc& loc) {
  QC_ASSIGN(Operands in, operands(context, node, loc));
  if (node.target.ends_with(".cond")) return cond(context, in, loc);
  if (node.target.ends_with(".while_loop")) return while_loop(context, in, loc);
  return scan(context, std::move(in), node.target.ends_with(".map_impl"), loc);
}

}  // namespace qc::pt2
