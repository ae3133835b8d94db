#include "passes/lift_quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/capability.h"
#include "passes/fold_constants.h"
#include "passes/remark.h"
#include "quant/emit.h"
#include "quant/lifting.h"
#include "support/counted.h"

namespace qc {
namespace {

/// Values are reached through at most so many ops.
constexpr int kMaxRounds = 64;

/// What tells quantize nodes apart: op, parameters and operands.
std::string key_of(const Node& node, const std::vector<Value*>& inputs) {
  const auto* codes = dynamic_cast<const MakesCodes*>(&node);
  std::string key = fmt::format("{} {}", node.op(), codes->parameters());
  for (const Value* v : inputs) key += fmt::format(" %{}", v ? std::to_string(v->number()) : "_");
  return key;
}

/// Whether scales lie alike over a value. An op that finds its scales may lay them in one way only.
bool lie_alike(const Format& a, const Format& b) {
  return a.granularity == b.granularity && a.is_dynamic() == b.is_dynamic() &&
         (a.granularity == Granularity::tensor || a.axis == b.axis) && a.group == b.group;
}

/// Whether groups of the value have elements. A row without any has a scale that no other row has.
bool has_groups(const Value* v, const Format& format) {
  return format.granularity != Granularity::group ||
         !(v->shape()[static_cast<size_t>(format.axis)] == Dim(0));
}

/// A quantize node where others could move to.
struct Source {
  Node* node = nullptr;  // null: the op has none that lies so
  size_t order = 0;
  bool is_new = false;
  size_t moves = 0;
  Dim covered = 0;  // elements that are quantized without it
};

/// A quantize node that could move up past `mover`.
struct Move {
  Node* quantize;
  Node* mover;
  std::vector<Source*> sources;  // for every operand that the mover moves
  bool free;                     // the mover's floats are moved by nobody else, or at no cost
  bool accepted = true;
};

/// A quantize node and the op above it that it did not move past.
struct Apart {
  Node* quantize;
  Node* mover;
  std::string_view why;
};

class Lifter {
 public:
  Lifter(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Result<bool> run() {
    // Where the pass runs again, what stayed apart before may not any more.
    std::erase_if(context_.remarks, [](const std::string& text) {
      return text.starts_with(kPass) && text.find(kStays) != text.npos;
    });
    collect();
    if (quantizes_.empty()) return false;
    graph_.sweep();
    collect();
    const size_t before = quantizes_.size();
    for (int i = 0; i < kMaxRounds; ++i) {
      QC_ASSIGN(const bool more, round());
      if (!more) break;
    }
    collect();
    remark(before);
    return changed_;
  }

 private:
  /// The quantize nodes as they stand.
  void collect() {
    quantizes_.clear();
    order_.clear();
    for (Node* n = graph_.first(); n; n = n->next()) {
      if (!capability<MakesCodes>(n)) continue;
      order_[n] = quantizes_.size();
      quantizes_.push_back(n);
    }
  }

  Result<bool> round() {
    collect();
    sources_.clear();
    moves_.clear();
    apart_.clear();
    QC_TRY(join_equal());
    for (Node* node : quantizes_) QC_TRY(propose(node));
    // Who counted on a move that is given up is asked again.
    for (int i = 0; choose(); ++i) {
      if (i == kMaxRounds) moves_.clear();
    }
    std::erase_if(moves_, [](const Move& m) { return !m.accepted; });
    for (const Move& m : moves_) QC_TRY(lift(m));
    for (Value* from : replaced_values_) graph_.replace_uses(from, last(from));
    replaced_values_.clear();
    replaced_.clear();
    QC_TRY(fold_new());
    graph_.sweep();
    changed_ = changed_ || !moves_.empty();
    return !moves_.empty();
  }

  /// Equal quantize nodes of one value become the first of them.
  Result<Ok> join_equal() {
    std::vector<Node*> retained;
    for (Node* node : quantizes_) {
      Source& s = sources_[key_of(*node, node->inputs())];
      if (!s.node) {
        s.node = node;
        s.order = order_[node];
        retained.push_back(node);
        continue;
      }
      QC_ASSIGN(Value * codes, emit_with_format({graph_, node->loc(), node}, s.node->output(),
                                                node->output()->type().quant()));
      graph_.replace_uses(node->output(), codes);
      for (size_t o = 1; o < node->output_count(); ++o) {
        graph_.replace_uses(node->output(o), s.node->output(o));
      }
      graph_.set_loc(s.node, join(s.node->loc(), node->loc()));
      graph_.erase(node);
      changed_ = true;
    }
    quantizes_ = std::move(retained);
    return Ok{};
  }

  /// Whether moving codes in place of floats costs nothing: nobody moves the floats any more, or
  /// they are not moved but only seen in another shape.
  static bool is_free(const Node& mover) {
    if (mover.info().has(kReshapes)) return true;
    if (mover.output()->pinned() > 0) return false;
    const auto users = mover.output()->users();
    return std::all_of(users.begin(), users.end(),
                       [](Node* user) { return capability<MakesCodes>(user) != nullptr; });
  }

  /// Notes where the node could move to, or what keeps it.
  Result<Ok> propose(Node* node) {
    Node* mover = node->input(0)->def();
    if (!mover) return Ok{};
    const auto* moves = capability<MovesScales>(mover);
    if (!moves) {
      if (mover->info().has(kMovesElements)) {
        apart_.push_back({node, mover, "which elements it takes is known at run time only"});
      }
      return Ok{};
    }
    Move move{node, mover, {}, is_free(*mover)};
    const size_t count = std::min(mover->input_count(), moves->moved_operands());
    for (size_t i = 0; i < count; ++i) {
      const Laid laid = moves->laid_over(i, *node->output()->type().format);
      const bool moves_groups = laid.format && has_groups(mover->input(i), *laid.format) &&
                                has_groups(node->output(), *node->output()->type().format);
      Source* source = moves_groups ? source_of(node, *laid.format, mover->input(i)) : nullptr;
      if (!source || !source->node) {
        apart_.push_back({node, mover, laid.format ? kTornApart : laid.why});
        return Ok{};
      }
      move.sources.push_back(source);
    }
    moves_.push_back(std::move(move));
    return Ok{};
  }

  /// The quantize node of `x` that `node` could become; one that is not there yet is added, and
  /// goes again when nothing moves there.
  Source* source_of(Node* node, const Format& format, Value* x) {
    auto made = capability<MakesCodes>(node)->with_scales(format);
    std::vector<Value*> inputs = node->inputs();
    inputs[0] = x;
    Source& s = sources_[key_of(*made, inputs)];
    if (s.node && !lie_alike(*s.node->output()->type().format, format)) return nullptr;
    if (s.node && s.order >= order_[node]) {
      // All that it reads is read above this node too, so it may stand here.
      graph_.move(s.node, node);
      s.order = order_[s.node] = order_[node];
    }
    if (s.node) return &s;
    Result<Node*> added = graph_.add(std::move(made), std::move(inputs), node->loc(), node);
    if (!added.ok()) return &s;
    if (!(*(*added)->output()->type().format == format)) {
      graph_.erase(*added);
      return &s;
    }
    s.node = *added;
    s.order = order_[node];
    s.is_new = true;
    return &s;
  }

  bool at_least(const Dim& a, const Dim& b) const {
    return a == b || (a - b).bounds(graph_.symbol_bounds()).min >= 0;
  }

  /// Gives up moves that do not pay; true when there was one.
  bool choose() {
    for (auto& [key, s] : sources_) s.moves = 0, s.covered = 0;
    for (const Move& m : moves_) {
      if (!m.accepted) continue;
      const Dim result = product(m.mover->output()->shape());
      for (Source* s : m.sources) {
        const Dim operand = product(s->node->input(0)->shape());
        ++s->moves;
        s->covered = s->covered + (at_least(result, operand) ? operand : result);
      }
    }
    bool some = false;
    for (Move& m : moves_) {
      for (const Source* s : m.sources) {
        const bool joins = !s->is_new || s->moves > 1;
        // Constants are quantized when the program is compiled.
        const Value* of = s->node->input(0);
        const bool more =
            s->is_new && !of->is_constant() && !at_least(s->covered, product(of->shape()));
        if (!m.accepted || (!more && (m.free || joins))) continue;
        m.accepted = false;
        some = true;
        apart_.push_back({m.quantize, m.mover,
                          more ? "more elements would be quantized than now"
                               : "others read its result as floats, so that it would move twice"});
      }
    }
    return some;
  }

  /// Lets the mover work on codes in place of floats; readers are told when all moves are done.
  Result<Ok> lift(const Move& m) {
    const InsertPoint point{graph_, m.mover->loc(), m.quantize};
    const Type& type = m.quantize->output()->type();
    QC_ASSIGN(Value * codes, moved(point, m.mover->clone(), m, 0));
    QC_ASSIGN(codes, emit_with_format(point, codes, type.quant()));
    replace(m.quantize->output(), codes);
    for (size_t o = 1; o < m.quantize->output_count(); ++o) {
      Value* scales = m.quantize->output(o);
      if (!scales->has_uses()) continue;
      auto mover = capability<MovesScales>(m.mover)->scale_mover(*type.format);
      Value* found = m.sources[0]->node->output(o);
      if (mover) {
        QC_ASSIGN(found, moved(point, std::move(mover), m, o));
      }
      QC_CHECK(found->type() == scales->type(), "scales were moved to another shape");
      replace(scales, found);
    }
    for (const Source* s : m.sources) {
      graph_.set_loc(s->node, join(s->node->loc(), m.quantize->loc()));
    }
    return Ok{};
  }

  /// `mover` in place of that of the move, of results `output` of the sources.
  Result<Value*> moved(const InsertPoint& point, std::unique_ptr<Node> mover, const Move& m,
                       size_t output) {
    std::vector<Value*> inputs = m.mover->inputs();
    for (size_t i = 0; i < m.sources.size(); ++i) {
      inputs[i] = m.sources[i]->node->output(output);
    }
    QC_ASSIGN(Node * node, graph_.add(std::move(mover), inputs, point.loc, point.before));
    return node->output();
  }

  void replace(Value* from, Value* to) {
    replaced_values_.push_back(from);
    replaced_[from] = to;
  }

  /// What a value is replaced by in the end.
  Value* last(Value* v) const {
    for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v)) v = it->second;
    return v;
  }

  /// New quantize nodes of constants, with static scales, are constants themselves.
  Result<Ok> fold_new() {
    for (const auto& [key, s] : sources_) {
      if (!s.is_new || s.node->output_count() > 1 || !s.node->output()->has_uses()) continue;
      if (!s.node->input(0)->is_constant()) continue;
      QC_ASSIGN(const auto codes, record(graph_, *s.node, s.node->inputs()));
      graph_.replace_uses(s.node->output(), codes[0]);
    }
    return Ok{};
  }

  void remark(size_t before) {
    if (changed_) {
      context_.remarks.push_back(fmt::format("{}: {} became {}, as far up as they can be", kPass,
                                             counted(before, "quantize node"), quantizes_.size()));
    }
    for (const Apart& a : apart_) {
      context_.remarks.push_back(fmt::format("{}: {}{}below {}: {}", kPass, label(*a.quantize),
                                             kStays, label(*a.mover), a.why));
    }
    std::unordered_map<const Value*, Node*> first;
    for (Node* node : quantizes_) {
      Node*& other = first[node->input(0)];
      if (!other) {
        other = node;
        continue;
      }
      context_.remarks.push_back(
          fmt::format("{}: {}{}apart from {}, which quantizes the same "
                      "value otherwise: {} and {}",
                      kPass, label(*node), kStays, label(*other),
                      str(node->output()->type().quant()), str(other->output()->type().quant())));
    }
  }

  static constexpr const char* kPass = "lift_quantize";
  static constexpr const char* kStays = " stays ";
  Graph& graph_;
  PassContext& context_;
  bool changed_ = false;
  std::vector<Node*> quantizes_;  // in the order they stand
  std::unordered_map<const Node*, size_t> order_;
  std::map<std::string, Source> sources_;
  std::vector<Move> moves_;
  std::vector<Apart> apart_;
  std::vector<Value*> replaced_values_;  // in the order of the moves
  std::unordered_map<Value*, Value*> replaced_;
};

}  // namespace

Result<bool> lift_quantize(Graph& graph, PassContext& context) {
  return Lifter(graph, context).run();
}

}  // namespace qc
