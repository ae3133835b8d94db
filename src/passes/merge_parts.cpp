#include "passes/merge_parts.h"

#include <algorithm>
#include <unordered_map>

#include "ir/capability.h"
#include "ir/part_views.h"
#include "passes/remark.h"
#include "quant/emit.h"

namespace qc {
namespace {

struct Part {
  Node* node;  // that takes it
  IndexRange range;
};

/// Parts along one axis of a value, by where they begin; none where something else reads it.
std::vector<Part> parts_of(const Value* whole) {
  std::vector<Part> out;
  if (whole->pinned() > 0) return {};
  for (const Use* use = whole->first_use(); use; use = use->next) {
    const auto* is_part = capability<IsPart>(use->user);
    const auto range = is_part ? is_part->part() : std::nullopt;
    if (!range || (!out.empty() && range->axis != out[0].range.axis)) return {};
    out.push_back({use->user, *range});
  }
  std::sort(out.begin(), out.end(),
            [](const Part& a, const Part& b) { return a.range.start < b.range.start; });
  return out;
}

/// The one node that reads a part and can be joined with others, and their key.
std::pair<Node*, std::string> reader_of(const Part& part) {
  const Value* value = part.node->output();
  if (!value->has_one_use() || value->first_use()->index != 0) return {};
  Node* reader = value->first_use()->user;
  const auto* joins = capability<JoinsParts>(reader);
  return {reader, joins ? joins->part_key(part.range.axis) : ""};
}

/// How many parts from `first` on, side by side, are read alike.
size_t alike_from(const std::vector<Part>& parts, size_t first) {
  const std::string key = reader_of(parts[first]).second;
  size_t n = 1;
  if (key.empty()) return n;
  for (; first + n < parts.size(); ++n) {
    const IndexRange &last = parts[first + n - 1].range, &next = parts[first + n].range;
    if (next.start != last.start + last.size || reader_of(parts[first + n]).second != key) break;
  }
  return n;
}

/// Where nodes stand.
using Order = std::unordered_map<const Node*, size_t>;

/// Whether all who read a part stand behind `at`.
bool read_behind(const Part& part, size_t at, const Order& order) {
  const auto users = part.node->output()->users();
  return part.node->output()->pinned() == 0 &&
         std::all_of(users.begin(), users.end(), [&](const Node* user) {
           const auto it = order.find(user);
           return it != order.end() && it->second >= at;
         });
}

/// One node in place of those that read `count` parts from `first` on. It stands where the first of
/// them stood, so that its further operands are defined.
Result<Ok> merge(Graph& graph, Value* whole, const std::vector<Part>& parts, size_t first,
                 size_t count, const Order& order) {
  std::vector<Node*> readers;
  for (size_t i = first; i < first + count; ++i) readers.push_back(reader_of(parts[i]).first);
  Node* before = *std::min_element(readers.begin(), readers.end(),
                                   [&](Node* a, Node* b) { return order.at(a) < order.at(b); });
  Loc loc = readers[0]->loc();
  for (size_t i = 1; i < count; ++i) loc = join(loc, readers[i]->loc());
  const IndexRange &from = parts[first].range, &to = parts[first + count - 1].range;
  const IndexRange range{from.axis, from.start, to.start + to.size - from.start};
  std::vector<Value*> inputs = before->inputs();
  inputs[0] = whole;
  QC_ASSIGN(Node * made,
            graph.add(capability<JoinsParts>(readers[0])->on_part(range), inputs, loc, before));
  QC_CHECK(made->output()->type() == whole->type(),
           "an op on a part changed the type of the whole");
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& p = parts[i];
    const bool joined = i >= first && i < first + count;
    if (!joined && !read_behind(p, order.at(before), order)) continue;
    Node* replaced = joined ? readers[i - first] : p.node;
    QC_ASSIGN(Value * part, emit_part({graph, p.node->loc(), before}, made->output(), p.range.axis,
                                      p.range.start, p.range.size));
    graph.replace_uses(replaced->output(), part);
  }
  return Ok{};
}

}  // namespace

Result<bool> merge_parts(Graph& graph, PassContext& context) {
  std::vector<Value*> wholes;
  Order order;
  for (Node* n = graph.first(); n; n = n->next()) {
    order.emplace(n, order.size());
    for (size_t i = 0; i < n->output_count(); ++i) wholes.push_back(n->output(i));
  }
  size_t count = 0;
  for (Value* whole : wholes) {
    const std::vector<Part> parts = parts_of(whole);
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t alike = alike_from(parts, i);
      if (alike < 2) continue;
      QC_TRY(merge(graph, whole, parts, i, alike, order));
      ++count;
      break;
    }
  }
  if (count > 0) graph.sweep();
  remark_count(context, "merge_parts", count);
  return count > 0;
}

}  // namespace qc
