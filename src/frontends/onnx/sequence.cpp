// Sequences and optionals exist only while importing: a sequence is a list of values whose length
// and positions are known, so that nothing of it is left in the graph.
#include <algorithm>
#include <array>

#include "frontends/onnx/importer.h"
#include "support/budget.h"

namespace qc::onnx {
namespace {

constexpr int64_t kMaxParts = 1 << 16;  // of a split
constexpr int64_t kItemWork = 64;       // steps for each item of a list that is copied

constexpr std::array<std::string_view, 11> kOps = {
    "SequenceEmpty", "SequenceConstruct",  "SequenceInsert",    "SequenceErase",
    "SequenceAt",    "SequenceLength",     "SplitToSequence",   "ConcatFromSequence",
    "Optional",      "OptionalGetElement", "OptionalHasElement"};

int64_t int_attribute(const Env& env, const NodeProto& node, std::string_view name,
                      int64_t fallback) {
  const AttributeProto* a = env.find(node, name);
  return a ? a->i : fallback;
}

Value* integers(Graph& graph, const Ints& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return graph.constant(Tensor::of<int64_t>(DType::i64, {n}, values));
}

/// The position an operand names in a list of `size`; `end` also allows the place after the last.
Result<size_t> position(Value* at, int64_t fallback, size_t size, bool end, const Loc& loc) {
  int64_t i = fallback;
  if (at) {
    const auto known = known_ints(at);
    if (!known || known->size() != 1 || !(*known)[0].is_static()) {
      return error(Code::unsupported, loc, "a position in a sequence is computed at run time");
    }
    i = (*known)[0].value();
  }
  const int64_t n = static_cast<int64_t>(size);
  if (i < 0) i += n;
  if (i < 0 || i >= n + (end ? 1 : 0)) {
    return error(Code::attribute, loc, "position {} in a sequence of {}", i, n);
  }
  return static_cast<size_t>(i);
}

/// Sizes of the parts of SplitToSequence along an axis of `size`.
Result<Ints> parts(Value* split, int64_t size, const Loc& loc) {
  if (!split) {
    if (size > kMaxParts) return error(Code::limit, loc, "a split into {} parts", size);
    return Ints(static_cast<size_t>(size), 1);
  }
  const auto known = known_ints(split);
  if (!known || !all_static(*known)) {
    return error(Code::unsupported, loc, "the sizes of a split are computed at run time");
  }
  Ints out = static_dims(*known);
  if (split->rank() == 0 && out[0] > 0) {
    const int64_t each = out[0];
    if (size / each > kMaxParts)
      return error(Code::limit, loc, "a split into {} parts", size / each);
    out.assign(static_cast<size_t>(size / each), each);
    if (size % each != 0) out.push_back(size % each);
  }
  int64_t total = 0;
  for (int64_t part : out) {
    if (part < 0 || part > size || (total += part) > size) total = size + 1;
  }
  if (total != size) return error(Code::attribute, loc, "the parts of a split are not {}", size);
  return out;
}

}  // namespace

bool Importer::makes_sequences(const NodeProto& node) {
  return node.domain.empty() && std::ranges::find(kOps, node.op_type) != kOps.end();
}

Result<Ok> Importer::sequence_node(const NodeProto& node, const Schedule& plan, Scope& scope,
                                   const Env& env) {
  const Loc at = loc(node, env);
  const std::string_view op = node.op_type;
  Graph& graph = scope.graph();
  auto name = [&](size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : std::string_view{};
  };
  auto value = [&](size_t i) -> Result<Value*> {
    if (name(i).empty()) return static_cast<Value*>(nullptr);
    return scope.find(name(i));
  };
  if (node.outputs.empty()) return Ok{};
  auto gives = [&](Value* v) { return define(node, {v}, plan, scope, env); };
  auto gives_list = [&](Values list) {
    spend(Cost::work, kItemWork * static_cast<int64_t>(list.size()));
    scope.define_sequence(node.outputs[0], std::move(list));
    return Result<Ok>(Ok{});
  };
  const Values* list = name(0).empty() ? nullptr : scope.sequence(name(0));

  if (op == "OptionalHasElement") {
    Tensor has(DType::boolean, {});
    has.set_int(0, !name(0).empty());
    return gives(graph.constant(std::move(has)));
  }
  if (op == "Optional" || op == "OptionalGetElement") {
    if (list) return gives_list(*list);
    QC_ASSIGN(Value * v, value(0));
    if (!v) return error(Code::unsupported, at, "an optional without element");
    return gives(v);
  }
  if (op == "SequenceEmpty") return gives_list({});
  if (op == "SequenceConstruct") {
    QC_ASSIGN(Values all, operands(scope, node.inputs));
    if (std::ranges::find(all, nullptr) != all.end()) {
      return error(Code::graph, at, "an element of the sequence is omitted");
    }
    return gives_list(std::move(all));
  }
  if (op == "SplitToSequence") {
    QC_ASSIGN(Value * x, value(0));
    QC_ASSIGN(Value * split, value(1));
    if (!x) return error(Code::graph, at, "operand 0 is missing");
    QC_ASSIGN(const int64_t axis, resolve_axis(int_attribute(env, node, "axis", 0), x->rank(), at));
    const qc::Dim size = x->shape()[static_cast<size_t>(axis)];
    if (!size.is_static()) return error(Code::dim, at, "splits an axis of size {}", size.str());
    QC_ASSIGN(const Ints sizes, parts(split, size.value(), at));
    const bool squeeze = !split && int_attribute(env, node, "keepdims", 1) == 0;
    Values out;
    int64_t from = 0;
    for (int64_t part : sizes) {
      QC_ASSIGN(Values v, add_onnx(graph, at, "Slice",
                                   {x, integers(graph, {from}), integers(graph, {from + part}),
                                    integers(graph, {axis})}));
      if (squeeze) {
        QC_ASSIGN(v, add_onnx(graph, at, "Squeeze", {v.at(0), integers(graph, {axis})}));
      }
      out.push_back(v.at(0));
      from += part;
    }
    return gives_list(std::move(out));
  }

  if (!list) return error(Code::graph, at, "operand 0 is not a sequence");
  spend(Cost::work, kItemWork * static_cast<int64_t>(list->size()));
  Values items = *list;
  if (op == "SequenceLength") {
    const int64_t n = static_cast<int64_t>(items.size());
    return gives(graph.constant(Tensor::of<int64_t>(DType::i64, {}, {{n}})));
  }
  if (op == "ConcatFromSequence") {
    const int64_t axis = int_attribute(env, node, "axis", 0);
    const bool stack = int_attribute(env, node, "new_axis", 0) != 0;
    for (Value*& v : items) {
      if (!stack) continue;
      QC_ASSIGN(Values wider, add_onnx(graph, at, "Unsqueeze", {v, integers(graph, {axis})}));
      v = wider.at(0);
    }
    QC_ASSIGN(Values joined, add_onnx(graph, at, "Concat", items, {{"axis", axis}}));
    return gives(joined.at(0));
  }
  if (op == "SequenceInsert") {
    QC_ASSIGN(Value * v, value(1));
    QC_ASSIGN(Value * where, value(2));
    if (!v) return error(Code::graph, at, "operand 1 is missing");
    QC_ASSIGN(const size_t i,
              position(where, static_cast<int64_t>(items.size()), items.size(), true, at));
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(i), v);
    return gives_list(std::move(items));
  }
  QC_ASSIGN(Value * where, value(1));
  QC_ASSIGN(const size_t i, position(where, -1, items.size(), false, at));
  if (op == "SequenceAt") return gives(items[i]);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  return gives_list(std::move(items));
}

}  // namespace qc::onnx
