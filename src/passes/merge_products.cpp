#include "passes/merge_products.h"

#include <fmt/format.h>

#include <map>

#include "ir/capability.h"
#include "passes/remark.h"
#include "quant/emit.h"
#include "quant/lifting.h"
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
      if (!product || !n->output()->has_uses()) continue;
      const bool alone = !product->unmerged_because().empty();
      const auto [it, fresh] = group_of.try_emplace(
          alone ? fmt::format("alone {}", groups.size()) : key(*n, *product), groups.size());
      if (fresh) groups.emplace_back();
      groups[it->second].push_back(n);
    }
    remark_apart(groups);
    size_t merged = 0, of = 0;
    for (const auto& group : groups) {
      if (group.size() < 2) continue;
      QC_TRY(merge(group));
      ++merged;
      of += group.size();
    }
    if (merged == 0) return false;
    context_.remarks.push_back(
        fmt::format("{}: {} became {}", kPass, counted(of, "product"), merged));
    graph_.sweep();
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
      const InsertPoint point{graph_, n->loc(), n};
      QC_ASSIGN(Value * part, emit_slice(point, whole->output(), axis, at, size));
      QC_ASSIGN(part, emit_with_format(point, part, n->output()->type().quant()));
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

  /// Equal for products that become one.
  static std::string key(const Node& node, const JoinsProducts& product) {
    std::string text(node.op());
    for (const InCommon& c : product.in_common()) text += fmt::format(" {}", c.value);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* v = node.input(i);
      if (v && !v->is_constant()) text += fmt::format(" %{}", v->number());
    }
    return text;
  }

  /// The value that a product reads, before it was encoded.
  static const Value* source(const Node& product) {
    const Value* v = product.input(0);
    return v && v->def() && capability<MakesCodes>(v->def()) ? v->def()->input(0) : v;
  }

  /// What keeps two products of one source apart.
  static std::string reason(Node& a, Node& b) {
    const auto *left = capability<JoinsProducts>(&a), *right = capability<JoinsProducts>(&b);
    for (const auto& [node, product] : {std::pair{&a, left}, std::pair{&b, right}}) {
      if (!product) return fmt::format("{} is a product of floats", label(*node));
      if (!product->unmerged_because().empty()) {
        return fmt::format("of {}, {}", label(*node), product->unmerged_because());
      }
    }
    if (a.op() != b.op()) return "their ops differ";
    if (a.input(0) != b.input(0)) {
      return fmt::format("it reads {}, the other {}", str(a.input_type(0).quant()),
                         str(b.input_type(0).quant()));
    }
    std::string text;
    const std::vector<InCommon> of_a = left->in_common(), of_b = right->in_common();
    for (size_t i = 0; i < of_a.size(); ++i) {
      if (of_a[i].value == of_b[i].value) continue;
      text += fmt::format("{}its {}: {}, the other's: {}", text.empty() ? "" : "; ", of_a[i].what,
                          of_a[i].value, of_b[i].value);
    }
    return text;
  }

  /// Every pair of products of one value that do not become one.
  void remark_apart(const std::vector<std::vector<Node*>>& groups) {
    std::map<const Value*, std::vector<Node*>> of_source;
    for (const auto& group : groups) {
      Node* n = group[0];
      const Value* from = source(*n);
      if (!from) continue;
      std::vector<Node*>& others = of_source[from];
      if (others.empty()) others = float_products(*from);
      remark_apart(*n, others);
      others.push_back(n);
    }
  }
  void remark_apart(Node& node, const std::vector<Node*>& others) {
    for (size_t i = 0; i < others.size() && i < kPairs; ++i) {
      context_.remarks.push_back(
          fmt::format("{}: {} stays apart from {}, which reads the same value: {}", kPass,
                      label(node), label(*others[i]), reason(node, *others[i])));
    }
    if (others.size() > kPairs) {
      context_.remarks.push_back(
          fmt::format("{}: {} stays apart from {} more that read the same value", kPass,
                      label(node), counted(others.size() - kPairs, "product")));
    }
  }

  /// Readers of a value that multiply it with constant weights as floats.
  static std::vector<Node*> float_products(const Value& from) {
    std::vector<Node*> found;
    for (Node* n : from.users()) {
      if (capability<JoinsProducts>(n) || n->macs() == 0 || n->input_count() < 2) continue;
      if (n->input(0) == &from && n->input(1) && n->input(1)->is_constant()) found.push_back(n);
    }
    return found;
  }

  static constexpr size_t kPairs = 8;  // of one product that are remarked on
  static constexpr const char* kPass = "merge_products";
  Graph& graph_;
  PassContext& context_;
};

}  // namespace

Result<bool> merge_products(Graph& graph, PassContext& context) {
  return Merger(graph, context).run();
}

}  // namespace qc
