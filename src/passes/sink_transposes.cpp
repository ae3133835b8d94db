#include "passes/sink_transposes.h"

#include <algorithm>

#include "ir/capability.h"
#include "passes/fold_constants.h"

namespace qc {
namespace {

/// The permutation that undoes `perm`.
Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return out;
}

bool is_identity(const Ints& perm) { return std::is_sorted(perm.begin(), perm.end()); }

int64_t elements(const Value* constant) {
  return constant->graph()->pool().byte_size(constant->constant()) /
         static_cast<int64_t>(bytes(constant->dtype()));
}

class Sinker {
 public:
  explicit Sinker(Graph& graph) : graph_(graph) {}

  Result<bool> round() {
    changed_ = false;
    for (Node* n : graph_.nodes()) {
      if (n->output_count() != 1 || !n->output()->has_uses()) continue;
      QC_TRY(merge_views(n));
      QC_TRY(join_operands(n));
      QC_TRY(meet(n));
    }
    if (changed_) graph_.sweep();
    return changed_;
  }

 private:
  static Node* transpose_of(const Value* v) {
    return v && capability<IsTranspose>(v->def()) ? v->def() : nullptr;
  }
  static const Ints& perm_of(Node* n) { return capability<IsTranspose>(n)->permutation(); }

  /// A transpose of `x`, made like `model`, right before `before`; `x` itself for the identity.
  Result<Value*> transposed(Value* x, Node* model, Ints perm, Loc loc, Node* before) {
    if (is_identity(perm)) return x;
    auto made = capability<IsTranspose>(model)->with_permutation(std::move(perm));
    if (x->is_constant()) {
      QC_ASSIGN(std::vector<Value*> recorded, record(graph_, *made, {x}));
      return recorded[0];
    }
    QC_ASSIGN(Node * node, graph_.add(std::move(made), {x}, std::move(loc), before));
    return node->output();
  }

  /// transpose of transpose, reshape of reshape.
  Result<Ok> merge_views(Node* n) {
    Value* x = n->input(0);
    if (Node* inner = transpose_of(x); inner && capability<IsTranspose>(n)) {
      Ints perm;
      for (int64_t axis : perm_of(n)) perm.push_back(perm_of(inner)[static_cast<size_t>(axis)]);
      QC_ASSIGN(Value * y, transposed(inner->input(0), n, perm, join(inner->loc(), n->loc()), n));
      graph_.replace_uses(n->output(), y);
      changed_ = true;
      return Ok{};
    }
    const bool views = n->info().has(kReshapes) && x && x->def() &&
                       x->def()->info().has(kReshapes) && n->input_count() == 1 &&
                       x->def()->input_count() == 1;
    if (!views || x->def()->input(0)->dtype() != x->dtype()) return Ok{};
    const Type type = n->output()->type();
    graph_.set_input(n, 0, x->def()->input(0));
    // A view that describes its result relative to its operand cannot skip the one between.
    Result<std::vector<Type>> inferred = n->infer();
    if (!inferred.ok() || !((*inferred)[0] == type)) {
      graph_.set_input(n, 0, x);
      return Ok{};
    }
    graph_.set_loc(n, join(x->def()->loc(), n->loc()));
    changed_ = true;
    return Ok{};
  }

  /// `v` as the operand of an elementwise node that is to work before the transpose `perm`, where
  /// it can be one: a single element, a constant, or the operand of an equal transpose.
  bool movable(Value* v, const Ints& perm, int64_t rank) const {
    if (!v) return false;
    if (Node* t = transpose_of(v)) return v->has_one_use() && perm_of(t) == perm;
    return v->is_constant() && v->rank() <= rank;
  }

  Result<Value*> moved(Value* v, Node* model, const Ints& perm, Node* before) {
    if (Node* t = transpose_of(v)) return t->input(0);
    if (elements(v) == 1 && v->rank() <= 1) return v;
    Value* full = v;
    if (v->rank() < static_cast<int64_t>(perm.size())) {
      std::vector<int64_t> shape = graph_.pool().shape(v->constant());
      shape.insert(shape.begin(), perm.size() - shape.size(), 1);
      ConstantPool* pool = &graph_.pool();
      const ConstId source = v->constant();
      full = graph_.constant(pool->add_lazy(v->dtype(), shape, pool->name(source),
                                            [pool, source, shape]() -> Result<Tensor> {
                                              QC_ASSIGN(Tensor t, pool->get(source));
                                              return t.reshaped(shape);
                                            }));
    }
    return transposed(full, model, inverse(perm), model->loc(), before);
  }

  /// Lets the elementwise node work on the operands of the transposes; its type becomes theirs.
  Result<Ok> move_before(Node* n, Node* model, const Ints& perm) {
    std::vector<Value*> inputs;
    for (Value* v : n->inputs()) {
      QC_ASSIGN(Value * x, moved(v, model, perm, n));
      inputs.push_back(x);
    }
    graph_.set_inputs(n, std::move(inputs));
    return graph_.reinfer(n);
  }

  /// Elementwise on two or more equal transposes: one transpose after it.
  Result<Ok> join_operands(Node* n) {
    if (!n->info().has(kElementwise) || n->input_count() < 2) return Ok{};
    Node* model = nullptr;
    size_t count = 0;
    for (Value* v : n->inputs()) {
      if (Node* t = transpose_of(v)) model = t, ++count;
    }
    if (count < 2) return Ok{};
    const Ints perm = perm_of(model);
    for (Value* v : n->inputs()) {
      if (!movable(v, perm, static_cast<int64_t>(perm.size()))) return Ok{};
    }
    if (n->output()->rank() != static_cast<int64_t>(perm.size())) return Ok{};
    auto made = capability<IsTranspose>(model)->with_permutation(perm);
    const Loc loc = model->loc();
    Node* after = n->next();
    QC_TRY(move_before(n, model, perm));
    QC_ASSIGN(Node * t, graph_.add(std::move(made), {n->output()}, loc, after));
    graph_.replace_uses(n->output(), t->output());
    graph_.set_input(t, 0, n->output());
    changed_ = true;
    return Ok{};
  }

  /// A transpose below a chain of elementwise nodes, each read once, that starts at a transpose:
  /// the first one goes and the last one takes over what it did.
  Result<Ok> meet(Node* last) {
    if (!capability<IsTranspose>(last)) return Ok{};
    std::vector<Node*> chain;
    Value* v = last->input(0);
    while (v->has_one_use() && v->def() && !transpose_of(v)) {
      Node* n = v->def();
      if (!n->info().has(kElementwise) || n->output_count() != 1) return Ok{};
      Value* next = nullptr;
      for (Value* x : n->inputs()) {
        if (!x || x->is_constant()) continue;
        if (next) return Ok{};
        next = x;
      }
      if (!next || next->rank() != v->rank()) return Ok{};
      chain.push_back(n);
      v = next;
    }
    Node* first = transpose_of(v);
    if (!first || chain.empty() || !v->has_one_use()) return Ok{};
    const Ints perm = perm_of(first);
    for (Node* n : chain) {
      for (Value* x : n->inputs()) {
        if (x && x->is_constant() && x->rank() > static_cast<int64_t>(perm.size())) return Ok{};
      }
      if (n->output()->shape() != v->shape()) return Ok{};
    }
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      std::vector<Value*> inputs = (*it)->inputs();
      for (Value*& x : inputs) {
        if (!x || !(x == v || x->is_constant())) continue;
        QC_ASSIGN(x, moved(x, first, perm, *it));
      }
      graph_.set_inputs(*it, std::move(inputs));
      QC_TRY(graph_.reinfer(*it));
    }
    Ints both;
    for (int64_t axis : perm_of(last)) both.push_back(perm[static_cast<size_t>(axis)]);
    QC_ASSIGN(Value * y, transposed(chain.front()->output(), last, both,
                                    join(first->loc(), last->loc()), last));
    graph_.replace_uses(last->output(), y);
    changed_ = true;
    return Ok{};
  }

  Graph& graph_;
  bool changed_ = false;
};

}  // namespace

Result<bool> sink_transposes(Graph& graph, PassContext&) {
  constexpr int kMaxRounds = 8;
  bool changed = false;
  Sinker sinker(graph);
  for (int i = 0; i < kMaxRounds; ++i) {
    QC_ASSIGN(bool more, sinker.round());
    if (!more) break;
    changed = true;
  }
  return changed;
}

}  // namespace qc
