#include "passes/store_unsigned.h"

#include <fmt/format.h>

#include <numeric>

#include "ir/capability.h"
#include "quant/quant_node.h"

namespace qc {
namespace {

/// Sets of values that are stored alike.
class Storage {
 public:
  explicit Storage(Graph& graph)
      : graph_(graph), set_(graph.value_bound()), fixed_(graph.value_bound(), false) {
    std::iota(set_.begin(), set_.end(), size_t{0});
  }

  Result<bool> run(PassContext& context) {
    for (Node* n = graph_.first(); n; n = n->next()) constrain(n);
    const size_t count = choose();
    if (count == 0) return false;
    for (Node* n : graph_.nodes()) QC_TRY(apply(n));
    context.remarks.push_back(
        fmt::format("store_unsigned: {} values of signed codes stored as unsigned ones", count));
    return true;
  }

 private:
  size_t root(size_t i) {
    while (set_[i] != i) i = set_[i] = set_[set_[i]];
    return i;
  }
  void unite(const Value* a, const Value* b) {
    const size_t from = root(a->number()), to = root(b->number());
    if (from == to) return;
    fixed_[to] = fixed_[to] || fixed_[from];
    set_[from] = to;
  }
  void keep(const Value* v) { fixed_[root(v->number())] = true; }

  /// Operands that are there, then results.
  static std::vector<Value*> values_of(const Node* n) {
    std::vector<Value*> out;
    for (size_t i = 0; i < n->input_count(); ++i) {
      if (n->input(i)) out.push_back(n->input(i));
    }
    for (size_t i = 0; i < n->output_count(); ++i) out.push_back(n->output(i));
    return out;
  }

  /// Codes that this graph alone makes and reads, of a format that has an unsigned twin.
  static bool may_change(const Value* v) {
    return v->def() && v->pinned() == 0 && unsigned_codes(v->type().quant());
  }

  static bool moves_codes(Node* n) {
    const OpInfo& info = n->info();
    return (info.has(kOnCodes) || info.has(kMovesElements) || info.has(kReshapes)) &&
           !capability<ChangesCodes>(n);
  }

  void constrain(Node* n) {
    const auto* stores = capability<StoresCodes>(n);
    if (stores && stores->counts_from_zero()) {
      for (size_t i = 0; i < n->input_count(); ++i) {
        if (n->input(i) && stores->has_result_format(i)) unite(n->input(i), n->output());
      }
      for (size_t i = 1; i < n->output_count(); ++i) {
        if (n->output(i)->type().format) unite(n->output(i), n->output());
      }
    } else if (!stores && moves_codes(n)) {
      // All that has the type of the codes; other values are indices and conditions.
      const Value* first = nullptr;
      for (const Value* v : values_of(n)) {
        if (v->dtype() != DType::i8) continue;
        if (first) unite(v, first);
        first = v;
        if (!v->type().format) keep(v);
      }
    } else {
      for (const Value* v : values_of(n)) keep(v);
    }
    for (const Value* v : values_of(n)) {
      if (v->type().format && !may_change(v)) keep(v);
    }
  }

  /// Notes the values that change; how many there are.
  size_t choose() {
    changes_.resize(graph_.value_bound());
    size_t count = 0;
    for (Node* n = graph_.first(); n; n = n->next()) {
      for (size_t i = 0; i < n->output_count(); ++i) {
        const Value* v = n->output(i);
        if (!may_change(v) || fixed_[root(v->number())]) continue;
        changes_[v->number()] = true;
        ++count;
      }
    }
    return count;
  }

  bool changes(const Value* v) const { return v && changes_[v->number()]; }

  Result<Ok> apply(Node* n) {
    bool any = false;
    for (const Value* v : values_of(n)) any = any || changes(v);
    if (!any) return Ok{};
    if (auto* stores = capability<StoresCodes>(n)) {
      QC_TRY(stores->store_unsigned(graph_, changes(n->input(0)), changes(n->output())));
    }
    return graph_.reinfer(n);
  }

  Graph& graph_;
  std::vector<size_t> set_;    // by Value::number(): another value of the same set, or itself
  std::vector<bool> fixed_;    // of the value that stands for the set
  std::vector<bool> changes_;  // by Value::number()
};

}  // namespace

Result<bool> store_unsigned(Graph& graph, PassContext& context) {
  return Storage(graph).run(context);
}

}  // namespace qc
