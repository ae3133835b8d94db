#include "passes/widen_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/capability.h"
#include "ir/conversion.h"
#include "passes/fold_constants.h"
#include "passes/quantized_ops.h"
#include "passes/remark.h"
#include "quant/emit.h"
#include "quant/rule_index.h"

namespace qc {
namespace {

bool is_narrow(const Value* v) {
  return v && (v->dtype() == DType::f16 || v->dtype() == DType::bf16);
}

class Widener {
 public:
  Widener(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  /// How many nodes compute in f32 now.
  Result<size_t> run() {
    size_t count = 0;
    for (Node* node : graph_.nodes()) {
      QC_ASSIGN(const bool widened, widen(*node));
      if (widened) ++count;
    }
    if (count > 0) graph_.sweep();
    return count;
  }

 private:
  Result<bool> widen(Node& node) {
    if (node.info().has(kHasRegions) || node.output_count() == 0) return false;
    if (capability<ConvertsType>(&node)) {
      if (pass_on(node)) return true;
      if (!wide_.contains(node.input(0))) return false;  // it widens, or narrows other types
    }
    const std::vector<Value*> inputs = node.inputs();
    const auto narrow = std::ranges::find_if(inputs, is_narrow);
    if (narrow == inputs.end()) return false;
    if (runs_on_codes(node) && !wide_.contains(*narrow) && !becomes_codes(node, **narrow))
      return false;
    QC_ASSIGN(Node * made, in_f32(node, inputs));
    if (!made) return false;
    for (size_t i = 0; i < node.output_count(); ++i) QC_TRY(replace(*node.output(i), *made));
    return true;
  }

  /// Whether elements of a constant that a node moves are to be codes, so that it is stored as
  /// such.
  bool becomes_codes(const Node& node, const Value& moved) {
    if (!moved.is_constant()) return false;
    if (!context_.rules) return true;
    const auto& rules = context_.rules->rules;
    if (!rule_index_) rule_index_.emplace(rules);
    for (const size_t i : rule_index_->named(node)) {
      if (!rules[i]->matches(node)) continue;
      const Result<QScheme> scheme = rules[i]->scheme(node);
      return scheme.ok() && scheme->kind == QScheme::Kind::fixed;
    }
    return false;
  }

  /// A conversion from or to f32 of what is f32 already.
  bool pass_on(Node& node) {
    Value *x = node.input(0), *y = node.output();
    const auto it = wide_.find(x);
    Value* wide = it != wide_.end() ? it->second : x;
    if (wide->dtype() != DType::f32) return false;
    if (is_narrow(y)) {
      wide_.emplace(y, wide);
    } else if (y->dtype() == DType::f32 && wide != x) {
      graph_.replace_uses(y, wide);
    } else {
      return false;
    }
    return true;
  }

  /// The same node on f32 operands; null where the op does not take them or gives other results.
  Result<Node*> in_f32(Node& node, std::vector<Value*> inputs) {
    for (Value*& v : inputs) {
      if (!is_narrow(v)) continue;
      QC_ASSIGN(v, wide(v));
    }
    Result<Node*> made = graph_.add(node.clone(), std::move(inputs), node.loc(), &node);
    if (!made.ok()) return static_cast<Node*>(nullptr);
    for (size_t i = 0; i < node.output_count(); ++i) {
      const DType was = node.output(i)->dtype(), is = (*made)->output(i)->dtype();
      if (is_narrow(node.output(i)) ? is == DType::f32 : is == was) continue;
      graph_.erase(*made);
      return static_cast<Node*>(nullptr);
    }
    return *made;
  }

  Result<Ok> replace(Value& old, Node& made) {
    Value* y = made.output(old.index());
    if (!old.name().empty() && y->name().empty()) graph_.set_name(y, old.name());
    if (!is_narrow(&old)) {
      graph_.replace_uses(&old, y);
      return Ok{};
    }
    QC_ASSIGN(Value * narrow, cast(y, old.dtype(), old.def()));
    graph_.replace_uses(&old, narrow);
    wide_.emplace(narrow, y);
    return Ok{};
  }

  /// The value in f32; of a constant another constant.
  Result<Value*> wide(Value* v) {
    if (const auto it = wide_.find(v); it != wide_.end()) return it->second;
    Value*& made = widened_[v];
    if (made) return made;
    QC_ASSIGN(made, cast(v, DType::f32, v->def() ? v->def()->next() : graph_.first()));
    if (!v->is_constant()) return made;
    Node* node = made->def();
    QC_ASSIGN(const auto known, record(graph_, *node, node->inputs()));
    graph_.erase(node);
    return made = known[0];
  }

  /// Without names, so that no rule is for it.
  Result<Value*> cast(Value* v, DType to, Node* before) {
    return emit_cast({graph_, Loc{graph_.file, {}, {}}, before}, v, to);
  }

  Graph& graph_;
  const PassContext& context_;
  std::optional<RuleIndex> rule_index_;
  std::unordered_map<const Value*, Value*> wide_;     // results of nodes: what they narrow
  std::unordered_map<const Value*, Value*> widened_;  // inputs, constants and others: cast
};

bool wants_f32(const PassContext& context) {
  if (context.compute_in_f32) return true;
  return context.rules && std::ranges::any_of(context.rules->rules,
                                              [](const auto& rule) { return rule->quantizes(); });
}

}  // namespace

Result<bool> widen_floats(Graph& graph, PassContext& context) {
  if (!wants_f32(context)) return false;
  QC_ASSIGN(const size_t count, Widener(graph, context).run());
  if (count == 0) return false;
  context.remarks.push_back(
      fmt::format("widen_floats: {} of f16 or bf16 compute{} in f32, for rules quantize the model",
                  counted(count, "node"), count == 1 ? "s" : ""));
  return true;
}

}  // namespace qc
