#include "driver/index_checks.h"

#include <algorithm>

#include "interp/interpreter.h"
#include "ir/capability.h"
#include "ir/conversion.h"
#include "ir/index_formula.h"
#include "quant/scores.h"

namespace qc {
namespace {

class Tracer {
 public:
  Tracer(const Graph& graph, std::vector<IndexCheck>& out) : graph_(graph), out_(out) {}

  /// Whether the checks of inputs say all there is to say of the node's indices.
  bool visit(Node& node) {
    const auto* takes = capability<TakesIndices>(&node);
    if (!takes) return true;
    const IndexOperand indices = takes->index_operand();
    layer_ = node.loc().names.empty() ? std::string(node.op()) : node.loc().names[0];
    Value* v = node.input(indices.operand);
    if (indices.sizes.size() == 1)
      return trace(v, Dim(0) - indices.sizes[0], indices.sizes[0] - Dim(1));
    return trace_tuples(v, indices.sizes);
  }

 private:
  /// Tuples whose indices are values of their own, side by side.
  bool trace_tuples(Value* v, const Dims& sizes) {
    if (v->is_constant()) return true;
    Node* joined = v->def();
    if (!joined || !joined->info().has(kMovesElements) || joined->input_count() != sizes.size())
      return false;
    Dims column = v->shape();
    column.back() = Dim(1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!joined->input(i) || joined->input(i)->shape() != column) return false;
    }
    bool all = true;
    for (size_t i = 0; i < sizes.size(); ++i)
      all = trace(joined->input(i), Dim(0) - sizes[i], sizes[i] - Dim(1)) && all;
    return all;
  }

  /// Every element of `v` must lie in [least, most].
  bool trace(Value* v, Dim least, Dim most) {
    whole_ = true;
    while (v && !v->is_constant()) {
      if (!v->def()) return note(v, least, most) && whole_;
      v = before(*v->def(), least, most);
    }
    return v != nullptr;  // a constant
  }

  bool note(const Value* v, const Dim& least, const Dim& most) {
    const auto& inputs = graph_.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), v);
    if (at == inputs.end()) return false;
    out_.push_back({static_cast<size_t>(at - inputs.begin()), least, most, layer_});
    return true;
  }

  /// The operand whose elements are all of the node's, but for what is added to them; null for
  /// none.
  Value* before(Node& node, Dim& least, Dim& most) {
    if (!is_integer(node.output()->dtype())) return nullptr;
    Value* x = node.input(0);
    if (capability<ConvertsType>(&node)) {
      const DType from = x->dtype();
      const bool wider = bits(node.output()->dtype()) >= bits(from);
      return is_integer(from) && is_signed(from) && wider ? x : nullptr;
    }
    if (node.info().has(kReshapes) || node.info().has(kRepeats) || capability<IsTranspose>(&node))
      return x;
    if (const auto* sum = capability<MaySum>(&node); sum && sum->is_sum())
      return summand(node, least, most);
    if (const auto* picks = capability<PicksByTruth>(&node)) return wrapped(node, *picks);
    return nullptr;
  }

  /// The operand to which a constant is added. One element meets all of the constant; of several,
  /// which meets which is left open.
  Value* summand(Node& node, Dim& least, Dim& most) {
    const size_t constant = node.input(1)->is_constant() ? 1 : 0;
    Value* x = node.input(1 - constant);
    if (!node.input(constant)->is_constant() || x->is_constant()) return nullptr;
    const auto c = graph_.pool().get(node.input(constant)->constant());
    if (!c.ok() || c->size() == 0) return nullptr;
    int64_t lo = c->as_int(0), hi = lo;
    for (int64_t i = 1; i < c->size(); ++i) {
      lo = std::min(lo, c->as_int(i));
      hi = std::max(hi, c->as_int(i));
    }
    const bool each = product(x->shape()) == Dim(1);
    if (!each && lo != hi) whole_ = false;
    least = least - Dim(each ? lo : hi);
    most = most - Dim(each ? hi : lo);
    return x;
  }

  /// x where it is not negative, x + size where it is.
  Value* wrapped(Node& node, const PicksByTruth& picks) const {
    for (const bool truth : {true, false}) {
      Value *x = node.input(picks.picked(truth)), *other = node.input(picks.picked(!truth));
      Node* made = other->def();
      const auto* sum = made ? capability<MaySum>(made) : nullptr;
      if (sum && sum->is_sum() && (made->input(0) == x || made->input(1) == x)) return x;
    }
    return nullptr;
  }

  const Graph& graph_;
  std::vector<IndexCheck>& out_;
  std::string layer_;
  bool whole_ = true;  // no constant was added whose elements meet others than is known
};

}  // namespace

std::vector<IndexCheck> index_checks(const Graph& graph) {
  std::vector<IndexCheck> out;
  Tracer tracer(graph, out);
  for (Node* n = graph.first(); n; n = n->next()) tracer.visit(*n);
  return out;
}

Result<bool> add_index_checks(Graph& graph, bool inputs) {
  std::vector<IndexCheck> of_inputs;
  Tracer tracer(graph, of_inputs);
  Value* found = nullptr;
  int64_t number = 0;
  for (Node* n : graph.nodes()) {
    const auto* takes = capability<TakesIndices>(n);
    if (!takes || (tracer.visit(*n) && !inputs)) continue;
    const IndexOperand indices = takes->index_operand();
    Value* v = n->input(indices.operand);
    if (v->is_constant() || indices.sizes.empty()) continue;
    std::vector<Value*> operands{v};
    if (found) operands.push_back(found);
    QC_ASSIGN(found, graph.emit("bad_index", operands,
                                {{"sizes", indices.sizes}, {"number", ++number}}, n->loc(), n));
  }
  if (!found) return false;
  graph.add_output("", found);
  return true;
}

Result<Ok> check_indices(const std::vector<IndexCheck>& checks, const Graph& graph,
                         const std::vector<Tensor>& inputs, const Bindings& sizes) {
  for (const IndexCheck& check : checks) {
    const Dim least = check.least.substitute(sizes), most = check.most.substitute(sizes);
    if (!least.is_static() || !most.is_static()) continue;
    const Tensor& x = inputs[check.input];
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t index = x.as_int(i);
      if (index >= least.value() && index <= most.value()) continue;
      return error(Code::input, Loc{graph.file, {check.layer}, {}},
                   "element {} of input '{}' is {}, and the layer takes {} to {}", i,
                   graph.inputs()[check.input]->name(), index, least.value(), most.value());
    }
  }
  return Ok{};
}

Result<Ok> check_indices(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<IndexCheck> checks = index_checks(graph);
  if (checks.empty()) return Ok{};
  QC_ASSIGN(const Bindings sizes, bindings_for(graph, inputs));
  return check_indices(checks, graph, inputs, sizes);
}

}  // namespace qc
