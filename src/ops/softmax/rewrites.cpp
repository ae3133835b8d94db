// Softmax written out, and as decomposed attention has it, with rows of masked keys turned into
// zeros.
#include "ir/op_table.h"
#include "ir/rewrite.h"
#include "ops/common/attribute.h"

namespace qc {
namespace {

using P = Pattern;

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

/// The axis of a reduction along one axis that stays as one of size 1.
std::optional<int64_t> reduced_axis(const Node& reduction) {
  const Ints axes = attribute<Ints>(reduction, "axes");
  if (axes.size() != 1 || !attribute<bool>(reduction, "keepdims")) return std::nullopt;
  return axes[0] < 0 ? axes[0] + reduction.input(0)->rank() : axes[0];
}

/// where(not any(x != -inf), 0, softmax(x)): the reduction must run along the softmax's axis.
Result<Value*> masked_rows(Graph& graph, const Match& m) {
  if (m.scalar("bound") != -kInf) return static_cast<Value*>(nullptr);
  const int64_t axis = attribute<int64_t>(*m.node("softmax"), "axis");
  if (reduced_axis(*m.node("any")) != (axis < 0 ? axis + m.value("x")->rank() : axis))
    return static_cast<Value*>(nullptr);
  return softmax_with(graph, m, "masked");
}

/// exp(x - max(x)) / sum(exp(x - max(x))) along one axis.
Result<Value*> written_out(Graph& graph, const Match& m) {
  const auto axis = reduced_axis(*m.node("sum"));
  if (!axis || reduced_axis(*m.node("max")) != axis) return static_cast<Value*>(nullptr);
  return graph.emit("softmax", {m.value("x")}, {{"axis", *axis}}, m.loc(), m.root());
}

Result<Value*> nan_rows(Graph& graph, const Match& m) { return softmax_with(graph, m, "nan"); }

}  // namespace

std::span<const Rewrite> softmax_rewrites() {
  const auto not_of = [](P x) { return P::op("logical_not", {std::move(x)}); };
  const P zero = P::maybe("expand", P::constant("zero"));
  const P finite = not_of(P::op("eq", {P::any("x"), P::constant("bound")}));
  const P exp =
      P::op("exp", {P::op("sub", {P::any("x"), P::op("reduce_max", {P::any("x")}, "max")})});
  static const std::vector<Rewrite> rewrites = {
      {"softmax_written_out", P::op("div", {exp, P::op("reduce_sum", {exp}, "sum")}), written_out},
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
