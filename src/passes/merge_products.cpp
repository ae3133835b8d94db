#include "passes/merge_products.h"

#include <fmt/format.h>

#include <map>

#include "ir/capability.h"
#include "passes/eliminate_common_subexpressions.h"
#include "passes/remark.h"
#include "quant/emit.h"
#include "quant/merging.h"
#include "support/counted.h"

namespace qc {
namespace {

class Merger {
 public:
  Merger(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Result<bool> run() {
    std::map<std::string, size_t> group_of;
    std::vector<std::vector<Node*>> groups;
    for (Node* n = graph_.first(); n; n = n->next()) {
      const auto* product = capability<JoinsProducts>(n);
      const std::string key = product ? product->join_key() : "";
      if (key.empty() || !n->output()->has_uses()) continue;
      const auto [it, fresh] = group_of.try_emplace(key, groups.size());
      if (fresh) groups.emplace_back();
      groups[it->second].push_back(n);
    }
    size_t merged = 0, of = 0;
    for (const auto& group : groups) {
      if (group.size() < 2) continue;
      QC_TRY(merge(group));
      ++merged;
      of += group.size();
    }
    remark_apart(groups);
    if (merged == 0) return false;
    context_.remarks.push_back(
        fmt::format("{}: {} became {}", kPass, counted(of, "product"), merged));
    graph_.sweep();
    QC_TRY(eliminate_common_subexpressions(graph_, context_));
    return true;
  }

 private:
  Result<Ok> merge(const std::vector<Node*>& products) {
    QC_ASSIGN(Node * whole,
              capability<JoinsProducts>(products[0])->join(graph_, products, products[0]));
    Loc loc = whole->loc();
    for (const Node* n : products) loc = join(loc, n->loc());
    graph_.set_loc(whole, std::move(loc));
    note_sources(products, *whole);
    const int64_t axis = whole->output()->rank() - 1;
    int64_t at = 0;
    for (Node* n : products) {
      const int64_t size = n->output()->shape().back().value();
      const Place place{graph_, n->loc(), n};
      QC_ASSIGN(Value * part, emit_part(place, whole->output(), axis, at, size));
      QC_ASSIGN(part, emit_with_format(place, part, n->output()->type().quant()));
      graph_.replace_uses(n->output(), part);
      at += size;
    }
    return Ok{};
  }

  /// What the weights were before they became codes, for reports.
  void note_sources(const std::vector<Node*>& products, const Node& whole) {
    std::vector<ConstId> sources;
    Value* joined = nullptr;
    for (size_t i = 0; i < whole.input_count() && !joined; ++i) {
      sources.clear();
      for (const Node* n : products) {
        const Value* v = n->input(i);
        const auto it = v && v->is_constant() ? context_.weight_sources.find(v->constant())
                                              : context_.weight_sources.end();
        if (it != context_.weight_sources.end()) sources.push_back(it->second);
      }
      if (sources.size() == products.size()) joined = whole.input(i);
    }
    if (joined) {
      context_.weight_sources[joined->constant()] = joined_rows(graph_.pool(), sources);
    }
  }

  /// Products of one operand that did not become one.
  void remark_apart(const std::vector<std::vector<Node*>>& groups) {
    std::map<const Value*, const Node*> first;
    for (const auto& group : groups) {
      const Node* n = group[0];
      if (!n->input(0)) continue;
      const auto [it, fresh] = first.try_emplace(n->input(0), n);
      if (fresh) continue;
      context_.remarks.push_back(fmt::format(
          "{}: {} stays apart from {}, which reads the same value: type of weights, result, limits "
          "or rounding differ, or one has a bias and the other none",
          kPass, label(*n), label(*it->second)));
    }
  }

  static constexpr const char* kPass = "merge_products";
  Graph& graph_;
  PassContext& context_;
};

}  // namespace

Result<bool> merge_products(Graph& graph, PassContext& context) {
  return Merger(graph, context).run();
}

}  // namespace qc
