#include "passes/assign_layouts.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "ir/capability.h"
#include "ir/op_table.h"
#include "support/checked.h"

namespace qc {
namespace {

/// Multiply-accumulates that a moved element must come with to be worth moving.
constexpr int64_t kMacsPerElement = 2;

bool has_channels(const Value* v) { return v->rank() >= 3 && v->rank() <= 5; }

/// Elements a relayout of the value moves: none where both orders are the same bytes.
int64_t moved_elements(const Value* v) {
  int64_t inner = 1, all = 1;
  for (int64_t i = 0; i < v->rank(); ++i) {
    const int64_t size = v->graph()->largest(v->shape()[static_cast<size_t>(i)]);
    all = saturating_mul(all, size);
    if (i >= 2) inner = saturating_mul(inner, size);
  }
  return v->shape()[1] == Dim(1) || inner == 1 ? 0 : all;
}

class Layouts {
 public:
  explicit Layouts(Graph& graph)
      : graph_(graph), relayout_(op_table().find_trait(kChangesLayout)) {}

  Result<bool> run(PassContext& context) {
    if (!relayout_ || !decide()) return false;
    int64_t moved = 0;
    for (const Value* v : to_last_) moved = saturating_add(moved, moved_elements(v));
    for (const Value* v : to_rows_) moved = saturating_add(moved, moved_elements(v));
    if (macs_ < saturating_mul(kMacsPerElement, moved)) return false;
    QC_TRY(apply());
    context.remarks.push_back(
        fmt::format("assign_layouts: {} values channels-last, {} relayouts of {} elements",
                    last_.size(), to_last_.size() + to_rows_.size(), moved));
    return true;
  }

 private:
  bool is_last(const Value* v) const { return last_.contains(v); }

  /// Whether operand i of a node in channels-last form must be channels-last.
  static bool follows(const Node* n, size_t i) {
    const Value* v = n->input(i);
    if (!v || v->is_constant() || !has_channels(v)) return false;
    const bool all = n->info().has(kElementwise) || n->info().has(kMovesElements);
    return i == 0 || (all && v->rank() == n->output()->rank());
  }

  /// Reads and writes any layout at no cost.
  static bool is_free(const Node* n) {
    return n->info().has(kAnyLayout) && dynamic_cast<const IsTranspose*>(n) != nullptr;
  }

  /// Scales per group of neighbours are for values whose elements lie in the model's order.
  static bool has_groups(const Value* v) {
    return v && v->type().format && v->type().format->granularity == Granularity::group;
  }

  static bool can_follow(const Node* n) {
    if (!n->info().has(kAnyLayout) || n->output_count() != 1 || is_free(n)) return false;
    const int64_t rank = n->output()->rank();
    if (has_groups(n->output())) return false;
    for (size_t i = 0; i < n->input_count(); ++i) {
      if (has_groups(n->input(i))) return false;
      if (follows(n, i) && rank >= 3 && n->input(i)->rank() != rank) return false;
    }
    return true;
  }

  /// Chooses the nodes and values that become channels-last; false when there are none.
  bool decide() {
    for (const Node* n = graph_.first(); n; n = n->next()) {
      for (size_t i = 0; i < n->output_count(); ++i) {
        for (const Dim& d : n->output(i)->shape()) {
          if (graph_.largest(d) == INT64_MAX) return false;  // nobody knows what it costs
        }
        if (n->output(i)->type().layout != Layout::row_major) return false;  // already assigned
      }
      const bool wants = n->info().has(kWantsChannelsLast) && n->output_count() == 1 &&
                         has_channels(n->output()) && follows(n, 0);
      bool is_nhwc = wants;
      if (wants) {
        macs_ = saturating_add(macs_, n->macs());
      } else if (can_follow(n)) {
        int64_t with = 0, against = 0;
        for (size_t i = 0; i < n->input_count(); ++i) {
          if (!follows(n, i)) continue;
          int64_t& side = is_last(n->input(i)) ? with : against;
          side = saturating_add(side, moved_elements(n->input(i)));
        }
        bool any = false;
        for (size_t i = 0; i < n->input_count(); ++i)
          any = any || (follows(n, i) && is_last(n->input(i)));
        is_nhwc = any && with >= against;
      }
      if (is_nhwc) {
        nhwc_nodes_.insert(n);
        if (has_channels(n->output())) last_.insert(n->output());
      }
      for (size_t i = 0; i < n->input_count() && !is_free(n); ++i) {
        const Value* v = n->input(i);
        if (!v) continue;
        if (is_nhwc && follows(n, i)) {
          if (!is_last(v)) to_last_.insert(v);
        } else if (is_last(v)) {
          to_rows_.insert(v);
        }
      }
    }
    write_last();
    for (const Output& o : graph_.outputs()) need_rows(o.value);
    for (const State& s : graph_.states()) need_rows(s.out);
    return !last_.empty();
  }
  /// A transpose writes either order: where all its readers want channels-last, it writes that.
  void write_last() {
    const std::vector<const Value*> wanted(to_last_.begin(), to_last_.end());
    for (const Value* v : wanted) {
      if (!v->def() || !is_free(v->def()) || v->pinned() > 0) continue;
      bool all = true;
      for (const Use* u = v->first_use(); u && all; u = u->next) {
        all = is_free(u->user) || (nhwc_nodes_.contains(u->user) && follows(u->user, u->index));
      }
      if (!all) continue;
      to_last_.erase(v);
      last_.insert(v);
    }
  }
  void need_rows(const Value* v) {
    if (is_last(v)) to_rows_.insert(v);
  }

  Result<Value*> relayout(Value* v, const char* to, Node* before) {
    std::unique_ptr<Node> node = relayout_->create();
    Loc loc = v->def() ? v->def()->loc() : Loc{graph_.file, {v->name()}, {}};
    QC_TRY(set_attrs(*node, {{"to", std::string(to)}}, loc));
    QC_ASSIGN(Node * added, graph_.add(std::move(node), {v}, std::move(loc), before));
    graph_.set_name(added->output(), v->name());
    return added->output();
  }

  Result<Ok> apply() {
    std::unordered_map<const Value*, Value*> as_last, as_rows;
    auto relayout_input = [&](Value* v) -> Result<Ok> {  // graph inputs and states
      if (!to_last_.contains(v)) return Ok{};
      QC_ASSIGN(as_last[v], relayout(v, "nhwc", graph_.first()));
      return Ok{};
    };
    const std::vector<Node*> nodes = graph_.nodes();
    for (Value* v : graph_.inputs()) QC_TRY(relayout_input(v));
    for (const State& s : graph_.states()) QC_TRY(relayout_input(s.in));
    for (Node* n : nodes) {
      const bool is_nhwc = nhwc_nodes_.contains(n);
      for (size_t i = 0; i < n->input_count(); ++i) {
        Value* v = n->input(i);
        if (!v) continue;
        auto& relayouts = is_nhwc && follows(n, i) ? as_last : as_rows;
        if (auto it = relayouts.find(v); it != relayouts.end() && !is_free(n))
          graph_.set_input(n, i, it->second);
      }
      for (size_t i = 0; i < n->output_count(); ++i) {
        Value* v = n->output(i);
        if (is_last(v)) {
          Type type = v->type();
          type.layout = Layout::channels_last;
          graph_.set_type(v, std::move(type));
        }
        if (to_last_.contains(v)) {
          QC_ASSIGN(as_last[v], relayout(v, "nhwc", n->next()));
        }
        if (to_rows_.contains(v)) {
          QC_ASSIGN(as_rows[v], relayout(v, "row_major", n->next()));
        }
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (auto it = as_rows.find(graph_.outputs()[i].value); it != as_rows.end())
        graph_.set_output(i, it->second);
    }
    for (size_t i = 0; i < graph_.states().size(); ++i) {
      if (auto it = as_rows.find(graph_.states()[i].out); it != as_rows.end())
        graph_.set_state_out(i, it->second);
    }
    return Ok{};
  }

  Graph& graph_;
  const OpEntry* relayout_;
  int64_t macs_ = 0;
  std::unordered_set<const Node*> nhwc_nodes_;
  std::unordered_set<const Value*> last_;     // stored channels-last
  std::unordered_set<const Value*> to_last_;  // row-major values needed channels-last
  std::unordered_set<const Value*> to_rows_;  // channels-last values needed row-major
};

}  // namespace

Result<bool> assign_layouts(Graph& graph, PassContext& context) {
  return Layouts(graph).run(context);
}

}  // namespace qc
