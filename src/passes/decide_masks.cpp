#include "passes/decide_masks.h"

#include "ir/capability.h"
#include "ir/index_formula.h"

namespace qc {
namespace {

class Decider {
 public:
  explicit Decider(Graph& graph) : graph_(graph), formulas_(graph) {}

  Result<bool> run() {
    QC_ASSIGN(const bool dropped, for_all(&Decider::drop_mask));
    QC_ASSIGN(const bool picked, for_all(&Decider::pick_run));
    QC_ASSIGN(const bool taken, for_all(&Decider::pick_operand));
    QC_ASSIGN(const bool decided, for_all(&Decider::decide));
    QC_ASSIGN(const bool passed_on, for_all(&Decider::pass_on));
    return dropped || picked || taken || decided || passed_on;
  }

 private:
  Result<bool> for_all(Result<bool> (Decider::*step)(Node*)) {
    bool changed = false;
    for (Node* n : graph_.nodes()) {
      QC_ASSIGN(bool done, (this->*step)(n));
      changed = changed || done;
    }
    if (changed) graph_.sweep();  // what is no longer read asks for nothing
    return changed;
  }

  /// Replaces the node by one without its mask, where it can say the same in another way.
  Result<bool> drop_mask(Node* node) {
    const auto* op = capability<const TakesMask>(node);
    std::vector<Value*> inputs = node->inputs();
    if (!op || inputs.empty() || !inputs.back()) return false;
    const IndexFormula* mask = formulas_.of(inputs.back());
    std::unique_ptr<Node> without = mask ? op->without_mask(*mask) : nullptr;
    if (!without) return false;
    inputs.pop_back();
    QC_ASSIGN(Node * made, graph_.add(std::move(without), std::move(inputs), node->loc(), node));
    graph_.replace_uses(node->output(), made->output());
    return true;
  }

  /// A result of which all elements are one number becomes that number, where somebody reads it who
  /// does more than go on counting.
  Result<bool> decide(Node* node) {
    const std::optional<int64_t> number = known(node);
    if (!number || !is_read_as_value(node->output()) || has_constants_only(node)) return false;
    Value* out = node->output();
    QC_ASSIGN(Value * made, emit_repeated(graph_, *number, out->type(), node->loc(), node));
    graph_.replace_uses(out, made);
    return true;
  }

  /// A result that is one of the operands, as x + 0 is, is not computed.
  Result<bool> pass_on(Node* node) {
    Value* out = node->output_count() == 1 ? node->output() : nullptr;
    const IndexFormula* formula = out && out->has_uses() ? formulas_.of(out) : nullptr;
    if (!formula) return false;
    for (Value* v : node->inputs()) {
      const IndexFormula* own = v && v->type() == out->type() ? formulas_.of(v) : nullptr;
      if (!own || own->is_truth != formula->is_truth || own->terms != formula->terms) continue;
      graph_.replace_uses(out, v);
      return true;
    }
    return false;
  }

  /// Rows that are picked one after the other, as embeddings of positions are, are a part of their
  /// table; a row that is picked everywhere is repeated.
  Result<bool> pick_run(Node* node) {
    const auto* op = capability<const PicksByNumber>(node);
    if (!op || has_constants_only(node)) return false;
    const std::optional<NumberRun> run = formulas_.run_below(node->input(1), op->choices());
    if (!run) return false;
    QC_ASSIGN(Value * part, op->emit_run(graph_, *run, node));
    graph_.replace_uses(node->output(), part);
    return true;
  }

  /// What is picked everywhere is repeated, not picked.
  Result<bool> pick_operand(Node* node) {
    const auto* op = capability<const PicksByTruth>(node);
    const IndexFormula* truth = op ? formulas_.of(node->input(0)) : nullptr;
    const std::optional<int64_t> all = truth ? truth->known() : std::nullopt;
    if (!all || has_constants_only(node)) return false;
    Value* taken = node->input(op->picked(*all != 0));
    if (taken->shape() != node->output()->shape()) {
      QC_ASSIGN(taken, emit_expanded(graph_, taken, node->output()->shape(), node->loc(), node));
    }
    graph_.replace_uses(node->output(), taken);
    return true;
  }

  std::optional<int64_t> known(const Node* node) {
    const IndexFormula* f = node->output_count() == 1 ? formulas_.of(node->output()) : nullptr;
    return f ? f->known() : std::nullopt;
  }

  bool is_read_as_value(const Value* value) {
    if (value->pinned() > 0) return true;
    for (const Use* u = value->first_use(); u; u = u->next) {
      if (!known(u->user)) return true;
    }
    return false;
  }

  /// Folding does better with those.
  static bool has_constants_only(const Node* node) {
    for (const Value* v : node->inputs()) {
      if (v && !v->is_constant()) return false;
    }
    return true;
  }

  Graph& graph_;
  IndexFormulas formulas_;
};

}  // namespace

Result<bool> decide_masks(Graph& graph, PassContext&) { return Decider(graph).run(); }

}  // namespace qc
