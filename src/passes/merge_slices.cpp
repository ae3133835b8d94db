#include "passes/merge_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "ir/capability.h"
#include "ir/op_table.h"
#include "ir/slice_views.h"
#include "passes/remark.h"
#include "quant/emit.h"
#include "quant/lifting.h"
#include "quant/merging.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

struct JoinedSlice {
  Node* node;  // that takes it
  IndexRange range;
};

/// Parts along one axis of a value, by where they begin; none where something else reads it.
std::vector<JoinedSlice> slices_of(const Value* whole) {
  std::vector<JoinedSlice> out;
  if (whole->pinned() > 0) return {};
  for (const Use* use = whole->first_use(); use; use = use->next) {
    const auto* is_slice = capability<IsSlice>(use->user);
    const auto range = is_slice ? is_slice->slice() : std::nullopt;
    if (!range || (!out.empty() && range->axis != out[0].range.axis)) return {};
    out.push_back({use->user, *range});
  }
  std::sort(out.begin(), out.end(), [](const JoinedSlice& a, const JoinedSlice& b) {
    return a.range.start < b.range.start;
  });
  return out;
}

/// The one node that reads a value, where there is one.
Node* only_reader(const Value* value) {
  return value->has_one_use() && value->pinned() == 0 ? value->first_use()->user : nullptr;
}

/// Whether codes have one scale, and it is known.
bool has_one_static_scale(const QType& type) {
  return type.format && type.format->granularity == Granularity::tensor &&
         !type.format->is_dynamic() && type.format->zero_point.kind != Component::Kind::dynamic;
}

/// An op that can be joined, between codes of a part and other codes, both with static scales.
struct Recoded {
  Node *decode = nullptr, *op = nullptr, *encode = nullptr;
  std::string key;  // what they have in common with those of other parts; empty: there are none
};

/// Scales and zero points may differ: those of all parts can lie along the axis.
Recoded recoded(const Value* codes, int64_t axis) {
  Recoded out;
  out.decode = only_reader(codes);
  if (!capability<IsDequantize>(out.decode) || out.decode->input_count() != 1) return {};
  out.op = only_reader(out.decode->output());
  const auto* joins = capability<JoinsSlices>(out.op);
  if (!joins || out.decode->output()->first_use()->index != 0) return {};
  out.encode = only_reader(out.op->output());
  const auto* quantize = capability<IsQuantize>(out.encode);
  if (!quantize || !capability<MakesCodes>(out.encode)) return {};
  const std::string key = joins->slice_key(axis);
  const Type& from = codes->type();
  const QType to = quantize->format();
  if (key.empty() || !has_one_static_scale(from.quant()) || !has_one_static_scale(to)) return {};
  std::string attrs;
  for (const auto& [name, value] : get_attrs(*out.decode)) attrs += name + "=" + str(value) + " ";
  for (const QType& type : {from.quant(), to}) {
    attrs += fmt::format("{} {}..{} {} ", name(type.dtype), type.format->qmin, type.format->qmax,
                         name(type.format->scale.values.dtype()));
  }
  out.key = fmt::format("{} {}{}", key, attrs, str(quantize->quantize_arithmetic()));
  return out;
}

/// Whether a part goes through views to codes, or to an op that can be joined.
bool is_worth_it(const JoinedSlice& slice) {
  constexpr int kMaxViews = 4;
  const Value* value = slice.node->output();
  Node* reader = only_reader(value);
  for (int i = 0; i < kMaxViews && capability<ViewsSlices>(reader); ++i) {
    value = reader->output();
    reader = only_reader(value);
  }
  if (capability<IsDequantize>(reader)) reader = only_reader(reader->output());
  return capability<MakesCodes>(reader) || capability<JoinsSlices>(reader);
}

/// Whether parts with one scale each are all that is read of codes with more: then so are those of
/// views of the codes.
bool have_one_scale(const Value* whole, const std::vector<JoinedSlice>& slices) {
  const Format* f = whole->type().format.get();
  if (!f || f->granularity == Granularity::tensor) return true;
  return std::all_of(slices.begin(), slices.end(), [](const JoinedSlice& p) {
    return has_one_static_scale(p.node->output()->type().quant());
  });
}

bool same(const Node& a, const Node& b) { return a.op() == b.op() && get_attrs(a) == get_attrs(b); }

/// A view of a whole value, of which the views that some parts go through are parts.
struct WholeView {
  std::unique_ptr<Node> node;
  std::vector<std::optional<IndexRange>> slices;  // of it; nullopt where a part goes through none
  int64_t axis = 0, each = 1;  // an index along this axis is so many of the parts' axis
};

/// Nullopt where fewer than two parts go through such a view, or the others are no parts of it.
std::optional<WholeView> whole_view(const Value* whole, const std::vector<JoinedSlice>& slices) {
  WholeView out;
  size_t views = 0;
  for (const JoinedSlice& p : slices) {
    const auto* view = capability<ViewsSlices>(only_reader(p.node->output()));
    auto of_whole = view ? view->of_whole(whole->shape(), p.range) : std::nullopt;
    if (view && (!of_whole || (out.node && !same(*of_whole->view, *out.node)))) return std::nullopt;
    out.slices.emplace_back(of_whole ? std::optional(of_whole->slice) : std::nullopt);
    if (!of_whole) continue;
    ++views;
    out.axis = of_whole->slice.axis;
    if (of_whole->slice.size > 0) out.each = p.range.size / of_whole->slice.size;
    if (!out.node) out.node = std::move(of_whole->view);
  }
  if (views < 2) return std::nullopt;
  for (size_t i = 0; i < slices.size() && views < slices.size(); ++i) {
    const IndexRange& r = slices[i].range;
    const bool fits =
        out.node->info().has(kReshapes) && r.start % out.each == 0 && r.size % out.each == 0;
    if (!out.slices[i] && !fits) return std::nullopt;
  }
  return out;
}

/// Lets parts be parts of one view of the whole; that view, null where there is none.
Result<Value*> sink(Graph& graph, Value* whole) {
  const std::vector<JoinedSlice> slices = slices_of(whole);
  if (!whole->def() || !std::any_of(slices.begin(), slices.end(), is_worth_it) ||
      !have_one_scale(whole, slices)) {
    return nullptr;
  }
  std::optional<WholeView> found = whole_view(whole, slices);
  if (!found) return nullptr;
  Node* const before = whole->def()->next();
  Loc loc;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (found->slices[i]) loc = join(loc, only_reader(slices[i].node->output())->loc());
  }
  QC_ASSIGN(Node * view, graph.add(std::move(found->node), {whole}, loc, before));
  for (size_t i = 0; i < slices.size(); ++i) {
    Node* taker = slices[i].node;
    const IndexRange old = slices[i].range;
    const IndexRange range = found->slices[i].value_or(
        IndexRange{found->axis, old.start / found->each, old.size / found->each});
    // What is no view of the model's stands as low as it can: an op on the whole may come between.
    Node* reader = only_reader(taker->output());
    const InsertPoint point{graph, taker->loc(), found->slices[i] || !reader ? before : reader};
    QC_ASSIGN(Value * slice,
              emit_slice(point, view->output(), range.axis, range.start, range.size));
    Value* replaced = found->slices[i] ? reader->output() : taker->output();
    if (!found->slices[i]) {
      QC_ASSIGN(slice, emit_reshape(point, slice, replaced->shape()));
    }
    QC_CHECK(slice->type() == replaced->type(), "a part of another shape than before");
    graph.replace_uses(replaced, slice);
  }
  return view->output();
}

/// The one node that reads a part and can be joined with others, and their key.
std::pair<Node*, std::string> reader_of(const JoinedSlice& slice) {
  const Value* value = slice.node->output();
  Node* reader = only_reader(value);
  if (!reader || value->first_use()->index != 0) return {};
  const auto* joins = capability<JoinsSlices>(reader);
  return {reader, joins ? joins->slice_key(slice.range.axis) : ""};
}

/// How many parts from `first` on, side by side, have the same key, and not an empty one.
template <class Key>
size_t alike_from(const std::vector<JoinedSlice>& slices, size_t first, Key&& key_of) {
  const std::string key = key_of(slices[first]);
  size_t n = 1;
  if (key.empty()) return n;
  for (; first + n < slices.size(); ++n) {
    const IndexRange &last = slices[first + n - 1].range, &next = slices[first + n].range;
    if (next.start != last.start + last.size || key_of(slices[first + n]) != key) break;
  }
  return n;
}

/// Where nodes stand.
using Order = std::unordered_map<const Node*, size_t>;

/// Whether all who read a part stand behind `at`.
bool read_behind(const JoinedSlice& slice, size_t at, const Order& order) {
  const auto users = slice.node->output()->users();
  return slice.node->output()->pinned() == 0 &&
         std::all_of(users.begin(), users.end(), [&](const Node* user) {
           const auto it = order.find(user);
           return it != order.end() && it->second >= at;
         });
}

/// One node in place of those that read `count` parts from `first` on. It stands where the first of
/// them stood, so that its further operands are defined.
Result<Ok> merge(Graph& graph, Value* whole, const std::vector<JoinedSlice>& slices, size_t first,
                 size_t count, const Order& order) {
  std::vector<Node*> readers;
  for (size_t i = first; i < first + count; ++i) readers.push_back(reader_of(slices[i]).first);
  Node* before = *std::min_element(readers.begin(), readers.end(),
                                   [&](Node* a, Node* b) { return order.at(a) < order.at(b); });
  Loc loc = readers[0]->loc();
  for (size_t i = 1; i < count; ++i) loc = join(loc, readers[i]->loc());
  const IndexRange &from = slices[first].range, &to = slices[first + count - 1].range;
  const IndexRange range{from.axis, from.start, to.start + to.size - from.start};
  const auto* joins = capability<JoinsSlices>(readers[0]);
  QC_ASSIGN(std::vector<Value*> inputs, joins->joined_operands(graph, range.axis, readers));
  inputs.insert(inputs.begin(), whole);
  QC_ASSIGN(Node * made, graph.add(joins->on_slice(range), inputs, loc, before));
  QC_CHECK(made->output()->type() == whole->type(),
           "an op on a part changed the type of the whole");
  for (size_t i = 0; i < slices.size(); ++i) {
    const JoinedSlice& p = slices[i];
    const bool joined = i >= first && i < first + count;
    if (!joined && !read_behind(p, order.at(before), order)) continue;
    Node* replaced = joined ? readers[i - first] : p.node;
    QC_ASSIGN(Value * slice, emit_slice({graph, p.node->loc(), before}, made->output(),
                                        p.range.axis, p.range.start, p.range.size));
    graph.replace_uses(replaced->output(), slice);
  }
  return Ok{};
}

/// The same for ops between codes: the codes from the first part to the last become floats, and
/// those other codes, at once, with the scales of each part for its indices.
Result<Ok> merge_recoded(Graph& graph, Value* whole, const std::vector<JoinedSlice>& slices,
                         size_t first, size_t count, const Order& order) {
  const IndexRange &from = slices[first].range, &to = slices[first + count - 1].range;
  const int64_t axis = from.axis, size = to.start + to.size - from.start;
  std::vector<Recoded> all;
  std::vector<Node*> ops;
  std::vector<const Type*> types;
  Loc decode_loc, loc, encode_loc;
  for (size_t i = first; i < first + count; ++i) {
    all.push_back(recoded(slices[i].node->output(), axis));
    ops.push_back(all.back().op);
    types.push_back(&all.back().encode->output()->type());
    decode_loc = join(decode_loc, all.back().decode->loc());
    loc = join(loc, all.back().op->loc());
    encode_loc = join(encode_loc, all.back().encode->loc());
  }
  Node* const op =
      std::min_element(all.begin(), all.end(), [&](const Recoded& a, const Recoded& b) {
        return order.at(a.op) < order.at(b.op);
      })->op;
  QC_ASSIGN(Value * codes,
            emit_slice({graph, slices[first].node->loc(), op}, whole, axis, from.start, size));
  QC_ASSIGN(Node * decode, graph.add(all[0].decode->clone(), {codes}, decode_loc, op));
  const auto* joins = capability<JoinsSlices>(op);
  QC_ASSIGN(std::vector<Value*> inputs, joins->joined_operands(graph, axis, ops));
  inputs.insert(inputs.begin(), decode->output());
  QC_ASSIGN(Node * made, graph.add(joins->on_slice({axis, 0, size}), inputs, loc, op));
  QC_ASSIGN(
      Node * encode,
      graph.add(capability<MakesCodes>(all[0].encode)->with_scales(*joined_format(types, axis)),
                {made->output()}, encode_loc, op));
  for (size_t i = 0; i < count; ++i) {
    const JoinedSlice& p = slices[first + i];
    const InsertPoint point{graph, p.node->loc(), op};
    Value* old = all[i].encode->output();
    QC_ASSIGN(Value * slice,
              emit_slice(point, encode->output(), axis, p.range.start - from.start, p.range.size));
    QC_ASSIGN(slice, emit_with_format(point, slice, old->type().quant()));
    graph.replace_uses(old, slice);
  }
  return Ok{};
}

/// Joins what is done to parts of a value; whether there was something.
Result<bool> merge_readers(Graph& graph, Value* whole, const Order& order) {
  const std::vector<JoinedSlice> slices = slices_of(whole);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (const size_t alike =
            alike_from(slices, i, [](const JoinedSlice& p) { return reader_of(p).second; });
        alike > 1) {
      QC_TRY(merge(graph, whole, slices, i, alike, order));
      return true;
    }
    if (const size_t alike = alike_from(
            slices, i,
            [](const JoinedSlice& p) { return recoded(p.node->output(), p.range.axis).key; });
        alike > 1) {
      QC_TRY(merge_recoded(graph, whole, slices, i, alike, order));
      return true;
    }
  }
  return false;
}

}  // namespace

Result<bool> merge_slices(Graph& graph, PassContext& context) {
  size_t views = 0, count = 0;
  for (Node* node : graph.nodes()) {
    for (size_t i = 0; i < node->output_count(); ++i) {
      Value* whole = node->output(i);
      while (whole) {
        QC_ASSIGN(whole, sink(graph, whole));
        if (whole) ++views;
      }
    }
  }
  if (views > 0) graph.sweep();
  std::vector<Value*> wholes;
  Order order;
  for (Node* n = graph.first(); n; n = n->next()) {
    order.emplace(n, order.size());
    for (size_t i = 0; i < n->output_count(); ++i) wholes.push_back(n->output(i));
  }
  for (Value* whole : wholes) {
    QC_ASSIGN(const bool merged, merge_readers(graph, whole, order));
    if (merged) ++count;
  }
  if (count > 0) graph.sweep();
  remark_count(context, "merge_slices", count);
  return views + count > 0;
}

}  // namespace qc
