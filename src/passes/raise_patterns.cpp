#include "passes/raise_patterns.h"

#include <deque>
#include <unordered_set>

#include "ir/rewrite.h"
#include "passes/fold_constants.h"

namespace qc {
namespace {

class Raiser {
 public:
  explicit Raiser(Graph& graph) : graph_(graph), limit_(16 * graph.node_count() + 64) {
    for (Node* n = graph.first(); n; n = n->next()) push(n);
  }

  Result<size_t> run() {
    while (!queue_.empty()) {
      Node* n = queue_.front();
      queue_.pop_front();
      if (pending_.erase(n) == 0) continue;  // erased meanwhile
      QC_TRY(try_root(n));
    }
    return count_;
  }

 private:
  void push(Node* n) {
    if (!rewrite_table().for_root(n->op()).empty() && pending_.insert(n).second)
      queue_.push_back(n);
  }

  Result<Ok> try_root(Node* root) {
    for (const Rewrite* rewrite : rewrite_table().for_root(root->op())) {
      Match match;
      if (!root->output(0)->has_uses() || !rewrite->pattern.match(root, match)) continue;
      Node* before = root->prev();
      QC_ASSIGN(Value * made, rewrite->build(graph_, match));
      if (!made) continue;
      if (++count_ > limit_) {
        return error(Code::bug, root->loc(), "rewrite '{}' never comes to an end", rewrite->name);
      }
      const Type& type = root->output()->type();
      if (made->dtype() != type.dtype || made->shape() != type.shape) {
        const bool provable = all_static(made->shape()) && all_static(type.shape);
        if (!provable) continue;  // symbolic shapes that may well be equal
        return error(Code::bug, root->loc(), "rewrite '{}' turns {} into {}", rewrite->name,
                     str(type), str(made->type()));
      }
      graph_.replace_uses(root->output(), made);
      for (Node* n = before ? before->next() : graph_.first(); n != root; n = n->next()) {
        QC_ASSIGN(bool folded, fold_node(graph_, n));  // a builder may permute or scale weights
        if (!folded) push(n);
      }
      for (const Use* u = made->first_use(); u; u = u->next) push(u->user);
      erase_dead(root);
      return Ok{};
    }
    return Ok{};
  }

  /// Erases the node and what only it read.
  void erase_dead(Node* node) {
    std::vector<Node*> dead = {node};
    while (!dead.empty()) {
      Node* n = dead.back();
      dead.pop_back();
      std::unordered_set<Node*> producers;
      for (const Value* v : n->inputs()) {
        if (v && v->def()) producers.insert(v->def());
      }
      pending_.erase(n);
      graph_.erase(n);
      for (Node* producer : producers) {
        bool used = false;
        for (size_t i = 0; i < producer->output_count(); ++i)
          used = used || producer->output(i)->has_uses();
        if (!used) dead.push_back(producer);
        // One that lost a reader may now be an inner node of a match at the reader it kept.
        else if (const Use* u = producer->output(0)->first_use(); u && !u->next)
          push(u->user);
      }
    }
  }

  Graph& graph_;
  size_t limit_;
  size_t count_ = 0;
  std::deque<Node*> queue_;
  std::unordered_set<Node*> pending_;
};

}  // namespace

Result<bool> raise_patterns(Graph& graph, PassContext& context) {
  QC_ASSIGN(size_t count, Raiser(graph).run());
  graph.sweep();  // what builders made and then did not use
  if (count > 0) context.remarks.push_back(fmt::format("raise_patterns: {} rewrites", count));
  return count > 0;
}

}  // namespace qc
