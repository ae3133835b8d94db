#include "passes/fold_pads.h"

#include "ir/border.h"
#include "ir/capability.h"
#include "passes/remark.h"

namespace qc {
namespace {

/// The readers of one bordered value, made anew for the value without its border.
class Unframed {
 public:
  Unframed(Graph& graph, const PassContext& context, bool codes)
      : graph_(graph), context_(context), codes_(codes) {}

  /// Whether all readers of `bordered` could be made anew of `plain`; if not, the graph is as
  /// before.
  bool build(const Border& border, Value* bordered, Value* plain) {
    const bool done = readers(border, bordered, plain);
    while (!done && !added_.empty()) {
      graph_.erase(added_.back());
      added_.pop_back();
    }
    return done;
  }
  /// Puts the new readers in the place of the old ones.
  void commit() {
    for (const auto& [from, to] : results_) graph_.replace_uses(from, to);
  }

 private:
  bool readers(const Border& border, Value* bordered, Value* plain) {
    if (bordered->pinned() > 0 || !bordered->has_uses()) return false;
    if (!codes_ && note_of(context_.notes, bordered)) return false;
    for (Node* user : bordered->users()) {
      if (!reader(border, user, bordered, plain)) return false;
    }
    return true;
  }

  bool reader(const Border& border, Node* user, Value* bordered, Value* plain) {
    std::vector<Value*> inputs = user->inputs();
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] == bordered) return false;
    }
    inputs[0] = plain;
    if (const auto* converts = codes_ ? capability<PreservesZero>(user) : nullptr) {
      if (!border.zero || !converts->preserves_zero()) return false;
      const Border converted{border.before, border.after, true, false};
      const Node* made = add(user->clone(), std::move(inputs), user);
      return made && readers(converted, user->output(), made->output());
    }
    const auto* takes = capability<TakesBorder>(user);
    if (!takes || (bordered->type().format != nullptr) != codes_) return false;
    std::unique_ptr<Node> node = takes->with_border(border);
    if (!node) return false;
    const Node* made = add(std::move(node), std::move(inputs), user);
    // Sizes with symbols may be equal without being provably so.
    if (!made || made->output_count() != 1 || !(made->output()->type() == user->output()->type())) {
      return false;
    }
    results_.emplace_back(user->output(), made->output());
    return true;
  }

  /// The node before `old`; null where such pads are not a window.
  Node* add(std::unique_ptr<Node> node, std::vector<Value*> inputs, Node* old) {
    const Result<Node*> made = graph_.add(std::move(node), std::move(inputs), old->loc(), old);
    if (!made.ok()) return nullptr;
    added_.push_back(*made);
    return *made;
  }

  Graph& graph_;
  const PassContext& context_;
  bool codes_;
  std::vector<Node*> added_;
  std::vector<std::pair<Value*, Value*>> results_;
};

bool fold(Graph& graph, PassContext& context, bool codes) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    const auto* adds_border = capability<AddsBorder>(node);
    const auto border = adds_border ? adds_border->border(graph.pool()) : std::nullopt;
    if (!border || (!border->zero && !border->lowest)) continue;
    Unframed readers(graph, context, codes);
    if (!readers.build(*border, node->output(), node->input(0))) continue;
    readers.commit();
    ++count;
  }
  if (count > 0) graph.sweep();
  remark_count(context, codes ? "fold_code_pads" : "fold_pads", count);
  return count > 0;
}

}  // namespace

Result<bool> fold_pads(Graph& graph, PassContext& context) { return fold(graph, context, false); }
Result<bool> fold_code_pads(Graph& graph, PassContext& context) {
  return fold(graph, context, true);
}

}  // namespace qc
