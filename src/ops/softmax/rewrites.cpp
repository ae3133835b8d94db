// Softmax as decomposed attention writes it, with rows of masked keys turned into zeros.
#include "ir/op_table.h"
#include "ir/rewrite.h"

namespace qc {
namespace {

using P = Pattern;

template <class T>
T attribute(const Node& node, std::string_view name) {
  for (const auto& [key, value] : get_attrs(node)) {
    if (const T* found = key == name ? std::get_if<T>(&value) : nullptr) return *found;
  }
  return {};
}

P plain_softmax(P x) {
  return P::op("softmax", {std::move(x)}, "softmax").when([](const Node& n) {
    return attribute<std::string>(n, "zero") == "none";
  });
}

/// Zeros may come as a whole tensor of them.
bool is_zero(const Value& value) {
  ConstantPool& pool = value.graph()->pool();
  constexpr int64_t kMaxBytes = 1 << 20;
  if (pool.byte_size(value.constant()) > kMaxBytes) return false;
  Result<Tensor> t = pool.get(value.constant());
  if (!t.ok()) return false;
  for (int64_t i = 0; i < t->size(); ++i) {
    if (t->as_double(i) != 0) return false;
  }
  return true;
}

/// The softmax with zero rows of that kind; null when what replaces its rows is not zero.
Result<Value*> softmax_with(Graph& graph, const Match& m, const char* zero) {
  if (!is_zero(*m.value("zero"))) return static_cast<Value*>(nullptr);
  const int64_t axis = attribute<int64_t>(*m.node("softmax"), "axis");
  return graph.emit("softmax", {m.value("x")}, {{"axis", axis}, {"zero", std::string(zero)}},
                    m.loc(), m.root());
}

/// where(not any(x != -inf), 0, softmax(x)): the reduction must run along the softmax's axis.
Result<Value*> masked_rows(Graph& graph, const Match& m) {
  if (m.scalar("bound") != -kInf) return static_cast<Value*>(nullptr);
  const Node& any = *m.node("any");
  const int64_t rank = m.value("x")->rank();
  const Ints axes = attribute<Ints>(any, "axes");
  const auto resolved = [rank](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  if (axes.size() != 1 || !attribute<bool>(any, "keepdims") ||
      resolved(axes[0]) != resolved(attribute<int64_t>(*m.node("softmax"), "axis"))) {
    return static_cast<Value*>(nullptr);
  }
  return softmax_with(graph, m, "masked");
}

Result<Value*> nan_rows(Graph& graph, const Match& m) { return softmax_with(graph, m, "nan"); }

}  // namespace

std::span<const Rewrite> softmax_rewrites() {
  const auto not_of = [](P x) { return P::op("logical_not", {std::move(x)}); };
  const P zero = P::maybe("expand", P::constant("zero"));
  const P finite = not_of(P::op("eq", {P::any("x"), P::constant("bound")}));
  static const std::vector<Rewrite> rewrites = {
      {"softmax_masked_rows",
       P::op("where",
             {not_of(P::op("reduce_any", {finite}, "any")), zero, plain_softmax(P::any("x"))}),
       masked_rows},
      {"softmax_nan_rows",
       P::op("where",
             {P::op("isnan", {plain_softmax(P::any("x"))}), zero, plain_softmax(P::any("x"))}),
       nan_rows},
  };
  return rewrites;
}

}  // namespace qc
