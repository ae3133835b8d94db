#include "interp/interpreter.h"

#include <algorithm>
#include <unordered_map>

#include "interp/eval.h"
#include "ir/guard_text.h"
#include "ir/indices.h"
#include "ir/solve.h"
#include "support/budget.h"
#include "support/checked.h"
#include "support/counted.h"
#include "support/located.h"

namespace qc {

namespace {

/// Steps that entering a body of a loop or branch takes beside its nodes: its values are found
/// places and given back.
constexpr int64_t kRegionWork = 5 * kNodeWork;

/// Steps an evaluation takes before it starts, as far as sizes tell; ops with work of their own
/// inside (windows, samples) count it themselves.
int64_t work_of(const Node& node, const std::vector<const Tensor*>& inputs) {
  constexpr int64_t kElement = 4, kMac = 2, kNode = 2 * kNodeWork;
  int64_t elements = 0;
  for (const Tensor* t : inputs) elements += t ? t->size() : 0;
  for (size_t i = 0; i < node.output_count(); ++i) {
    const auto size = checked_product(static_dims(node.output(i)->shape()));
    elements = saturating_add(elements, size.value_or(INT64_MAX));
  }
  return saturating_add(
      kNode, saturating_add(saturating_mul(kElement, elements), saturating_mul(kMac, node.macs())));
}

/// An error for the first index of the node that is out of range. Constants are not looked at: they
/// are the model's own in every run.
Result<Ok> check_indices(const Node& node, const std::vector<const Tensor*>& inputs) {
  const auto* takes = dynamic_cast<const TakesIndices*>(&node);
  if (!takes) return Ok{};
  const IndexOperand indices = takes->index_operand();
  if (node.input(indices.operand)->is_constant()) return Ok{};
  const Tensor& x = *inputs[indices.operand];
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t size = indices.sizes[static_cast<size_t>(i) % indices.sizes.size()].value();
    const int64_t index = x.as_int(i);
    if (index < -size || index >= size) return bad_index(node.loc(), index, -size, size - 1);
  }
  return Ok{};
}

}  // namespace

Result<std::vector<Tensor>> eval_node(const Node& node, std::vector<const Tensor*> inputs,
                                      EvalHow how) {
  const Doing doing("evaluating", &node.loc());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Type& type = node.output(i)->type();
    if (!all_static(type.shape)) {
      return error(Code::dim, node.loc(), "output shape {} is not known; bind its dimensions",
                   str(type.shape));
    }
    std::vector<int64_t> shape = static_dims(type.shape);
    QC_TRY(located(checked_bytes(type.dtype, shape), node.loc()));
    outputs.emplace_back(type.dtype, std::move(shape));
  }
  spend(Cost::work, work_of(node, inputs));
  if (how.check_indices) QC_TRY(check_indices(node, inputs));
  EvalContext context(node, std::move(inputs), std::move(outputs), how);
  const auto* fast = how.plain ? nullptr : dynamic_cast<const EvaluatesFast*>(&node);
  QC_TRY(located(fast ? fast->eval_fast(context) : node.eval(context), node.loc()));
  return std::move(context.outputs());
}

Result<std::vector<Tensor>> EvalContext::run(const Graph& region,
                                             std::vector<Tensor> inputs) const {
  spend(Cost::work, kRegionWork);
  QC_ASSIGN(RunResult result,
            interpret(region, inputs, {.states = {}, .observe = {}, .how = how_}));
  return std::move(result.outputs);
}

namespace {

/// Tensors of live values; a value is dropped after its last reader.
class Store {
 public:
  explicit Store(const Graph& graph) : pool_(graph.pool()) {}

  void put(const Value* v, Tensor t) {
    int readers = v->pinned();
    for (const Use* u = v->first_use(); u; u = u->next) ++readers;
    if (readers > 0) live_[v] = {std::move(t), readers};
  }
  Result<Tensor> get(const Value* v) {
    if (v->is_constant()) return pool_.get(v->constant());
    auto it = live_.find(v);
    QC_CHECK(it != live_.end(), "value read before it was computed");
    Tensor t = it->second.tensor;
    if (--it->second.readers == 0) live_.erase(it);
    return t;
  }

 private:
  struct Live {
    Tensor tensor;
    int readers;
  };
  ConstantPool& pool_;
  std::unordered_map<const Value*, Live> live_;
};

}  // namespace

Result<RunResult> interpret(const Graph& graph, const std::vector<Tensor>& inputs,
                            const RunOptions& options) {
  const Loc file{graph.file, {}, {}};
  if (inputs.size() != graph.inputs().size()) {
    return error(Code::input, file, "the model takes {}, got {}",
                 counted(graph.inputs().size(), "input"), inputs.size());
  }
  const auto& ports = graph.inputs();
  if (!std::all_of(ports.begin(), ports.end(), [](Value* v) { return all_static(v->shape()); })) {
    QC_ASSIGN(const Bindings sizes, bindings_for(graph, inputs));
    QC_ASSIGN(const BoundCopy bound, bound_copy(graph, sizes));
    if (!bound.graph->symbols().empty())
      return error(Code::dim, file, "the inputs do not say how large '{}' is",
                   bound.graph->symbols()[0]);
    RunOptions here = options;
    if (options.observe) {
      here.observe = [&](const Value& v, const Tensor& t) {
        options.observe(bound.original(v), t);
      };
    }
    return interpret(*bound.graph, inputs, here);
  }
  Store store(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* v = graph.inputs()[i];
    if (inputs[i].dtype() != v->dtype() || to_dims(inputs[i].shape()) != v->shape()) {
      return error(Code::input, file, "input '{}' is {}, got {}{}", v->name(), str(v->type()),
                   name(inputs[i].dtype()), str(to_dims(inputs[i].shape())));
    }
    store.put(v, inputs[i]);
  }
  for (size_t i = 0; i < graph.states().size(); ++i) {
    const State& s = graph.states()[i];
    if (i < options.states.size()) {
      store.put(s.in, options.states[i]);
    } else {
      QC_ASSIGN(Tensor t, graph.pool().get(s.initial));
      store.put(s.in, std::move(t));
    }
  }
  for (const Node* n = graph.first(); n; n = n->next()) {
    std::vector<Tensor> operands(n->input_count());
    std::vector<const Tensor*> pointers(n->input_count(), nullptr);
    for (size_t i = 0; i < n->input_count(); ++i) {
      if (!n->input(i)) continue;
      QC_ASSIGN(operands[i], store.get(n->input(i)));
      pointers[i] = &operands[i];
    }
    QC_ASSIGN(auto results, eval_node(*n, std::move(pointers), options.how));
    for (size_t i = 0; i < results.size(); ++i) {
      if (options.observe) options.observe(*n->output(i), results[i]);
      store.put(n->output(i), std::move(results[i]));
    }
  }
  RunResult out;
  for (const Output& o : graph.outputs()) {
    QC_ASSIGN(Tensor t, store.get(o.value));
    out.outputs.push_back(std::move(t));
  }
  for (const State& s : graph.states()) {
    QC_ASSIGN(Tensor t, store.get(s.out));
    out.states.push_back(std::move(t));
  }
  return out;
}

Result<BoundCopy> bound_copy(const Graph& graph, const Bindings& sizes) {
  BoundCopy out;
  QC_ASSIGN(out.graph, copy(graph));
  out.graph->file = graph.file;
  QC_TRY(located(out.graph->bind(sizes), Loc{graph.file, {}, {}}));
  const Node* twin = out.graph->first();
  for (const Node* n = graph.first(); n; n = n->next(), twin = twin->next()) {
    QC_CHECK(twin && twin->op() == n->op(), "binding sizes keeps every node");
    out.originals.emplace(twin, n);
  }
  return out;
}

const Value& BoundCopy::original(const Value& result) const {
  const Node* def = result.def();
  size_t i = 0;
  while (def->output(i) != &result) ++i;
  return *originals.at(def)->output(i);
}

Result<Bindings> bindings_for(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& t : inputs) shapes.push_back(t.shape());
  return bindings_for(graph, shapes);
}

Result<Bindings> bindings_for(const Graph& graph, const std::vector<std::vector<int64_t>>& shapes) {
  Bindings out;
  std::vector<std::pair<Dim, int64_t>> axes;
  const Loc file{graph.file, {}, {}};
  if (shapes.size() != graph.inputs().size()) {
    return error(Code::input, file, "the model takes {}, got {}",
                 counted(graph.inputs().size(), "input"), shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Value* v = graph.inputs()[i];
    if (shapes[i].size() != v->shape().size()) {
      return error(Code::input, file, "input '{}' has rank {}, got shape {}", v->name(), v->rank(),
                   str(to_dims(shapes[i])));
    }
    for (size_t d = 0; d < v->shape().size(); ++d) {
      const Dim& dim = v->shape()[d];
      axes.emplace_back(dim, shapes[i][d]);
      if (dim.is_static() || !(dim == Dim::symbol(dim.str()))) continue;
      const int64_t size = shapes[i][d];
      auto [it, fresh] = out.emplace(dim.str(), size);
      if (!fresh && it->second != size) {
        return error(Code::dim, file, "dimension '{}' is {} in one input and {} in '{}'", dim.str(),
                     it->second, size, v->name());
      }
    }
  }
  solve_axes(axes, out);
  for (const auto& [symbol, size] : out) {
    const auto range = graph.dim_ranges.find(symbol);
    if (range != graph.dim_ranges.end() && (size < range->second.min || size > range->second.max)) {
      return error(Code::dim, file, "dimension '{}' is {}, the model allows {}", symbol, size,
                   words(range->second));
    }
  }
  QC_TRY(graph.check_guards(out));
  return out;
}

}  // namespace qc
