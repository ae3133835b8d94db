// Layer norm and RMS norm written out, back to one op: first the normalisation, then the scale and
// the shift behind it.
#include "ir/op_table.h"
#include "ops/norm/norm.h"

namespace qc {
namespace {

using P = Pattern;

P x() { return P::any("x"); }

/// The mean over the last axis, which stays as one.
P mean(P a) {
  return P::op("reduce_mean", {std::move(a)}).when([](const Node& n) {
    bool last = false, keeps_dims = false;
    for (const auto& [name, value] : get_attrs(n)) {
      if (const Ints* axes = std::get_if<Ints>(&value)) {
        last = axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == n.input_type(0).rank() - 1);
      }
      if (const bool* keep = std::get_if<bool>(&value)) keeps_dims = *keep;
    }
    return last && keeps_dims;
  });
}

P squared(const P& a) {
  return P::either(
      {P::op("pow", {a, P::constant("", 2)}), P::op("mul", {a, a}), P::op("square", {a})});
}

/// a / sqrt(mean(a * a) + eps), also with rsqrt.
P normalised(const P& a) {
  P variance = P::op("add", {mean(squared(a)), P::constant("eps")});
  return P::either({P::op("div", {a, P::op("sqrt", {variance})}),
                    P::op("mul", {a, P::op("rsqrt", {variance})})});
}

P centred() { return P::op("sub", {x(), mean(x())}); }

constexpr Value* kNotHere = nullptr;

Result<Value*> normalise(Graph& graph, const Match& m, std::string_view op) {
  const std::optional<double> eps = m.scalar("eps");
  Value* x = m.value("x");
  if (!eps || *eps < 0 || x->dtype() != DType::f32 || !(x->type() == m.root()->output()->type()))
    return kNotHere;
  return graph.emit(op, {x}, {{"axis", x->rank() - 1}, {"eps", written_eps(*eps, x->dtype())}},
                    m.loc(), m.root());
}

Result<Value*> rms(Graph& graph, const Match& m) { return normalise(graph, m, "rms_norm"); }
Result<Value*> layer(Graph& graph, const Match& m) { return normalise(graph, m, "layer_norm"); }

/// Whether the constant has one element per element of the normalised axis.
bool fits_rows(const Value* c, const Node& norm) {
  const Dims& shape = norm.output()->shape();
  for (const auto& [name, value] : get_attrs(norm)) {
    if (name == "axis" && value != AttrValue(int64_t{-1}) &&
        value != AttrValue(norm.output()->rank() - 1))
      return false;
  }
  return c->dtype() == norm.output()->dtype() && c->rank() >= 1 &&
         c->shape().back() == shape.back() && product(c->shape()) == shape.back();
}

Result<Value*> with_parameter(Graph& graph, const Match& m, bool scale) {
  Node* norm = m.node("norm");
  Value* c = m.value("c");
  if (norm->output_count() != 1 || !fits_rows(c, *norm) ||
      !(norm->output()->type() == m.root()->output()->type())) {
    return kNotHere;
  }
  std::vector<Value*> inputs = {norm->input(0), scale ? c : norm->input(1), scale ? nullptr : c};
  QC_ASSIGN(Node * made, graph.add(norm->clone(), std::move(inputs), m.loc(), m.root()));
  return made->output();
}
Result<Value*> with_scale(Graph& graph, const Match& m) { return with_parameter(graph, m, true); }
Result<Value*> with_shift(Graph& graph, const Match& m) { return with_parameter(graph, m, false); }

P norm_of(const char* op, std::vector<P> inputs) { return P::op(op, std::move(inputs), "norm"); }
P parameter() { return P::constant("c"); }

}  // namespace

std::span<const Rewrite> norm_rewrites() {
  static const std::vector<Rewrite> rewrites = {
      {"layer_norm", normalised(centred()), layer},
      {"rms_norm", normalised(x()), rms},
      {"layer_norm_scale", P::op("mul", {norm_of("layer_norm", {x()}), parameter()}), with_scale},
      {"rms_norm_scale", P::op("mul", {norm_of("rms_norm", {x()}), parameter()}), with_scale},
      {"layer_norm_shift",
       P::op("add",
             {P::either({norm_of("layer_norm", {x()}), norm_of("layer_norm", {x(), P::any("s")})}),
              parameter()}),
       with_shift},
  };
  return rewrites;
}

}  // namespace qc
