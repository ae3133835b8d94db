// Spellings of activations that exporters write out, back to one op.
#include <cmath>

#include "ir/op_table.h"
#include "ops/unary/unary.h"

namespace qc {
namespace {

using P = Pattern;

P x() { return P::any("x"); }
P number(double value) { return P::constant("", value); }
P mul(P a, P b) { return P::op("mul", {std::move(a), std::move(b)}); }
P add(P a, P b) { return P::op("add", {std::move(a), std::move(b)}); }
P div(P a, P b) { return P::op("div", {std::move(a), std::move(b)}); }
P unary(const char* op, P a) { return P::op(op, {std::move(a)}); }
/// a * value, also written as a division.
P times(P a, double value) { return P::either({mul(a, number(value)), div(a, number(1 / value))}); }
/// x * factor * 0.5 in every order.
P half_of(P factor) {
  return P::either(
      {times(mul(x(), factor), 0.5), mul(times(x(), 0.5), factor), mul(x(), times(factor, 0.5))});
}

P erf_part() { return add(unary("erf", times(x(), 0.7071067811865476)), number(1)); }

P cube() {
  return P::either(
      {P::op("pow", {x(), number(3)}), mul(unary("square", x()), x()), mul(mul(x(), x()), x())});
}
P tanh_part() {
  return add(unary("tanh", times(add(x(), times(cube(), 0.044715)), 0.7978845608028654)),
             number(1));
}

P relu6_of_x_plus_3() {
  return P::op("clamp", {add(x(), number(3))}).when([](const Node& n) {
    for (const auto& [name, value] : get_attrs(n)) {
      const double* limit = std::get_if<double>(&value);
      if (!limit || *limit != (name == "lo" ? 0 : 6)) return false;
    }
    return true;
  });
}

/// hard_sigmoid(x) with the slope 1/6 and the middle 1/2, which are its defaults.
P hard_sigmoid_of_x() {
  return P::op("hard_sigmoid", {x()}).when([](const Node& n) {
    for (const auto& [name, value] : get_attrs(n)) {
      const double* number = std::get_if<double>(&value);
      if (!number || std::abs(*number - (name == "alpha" ? 1.0 / 6 : 0.5)) > 1e-6) return false;
    }
    return true;
  });
}

template <int Op>
Result<Value*> one_op(Graph& graph, const Match& m) {
  constexpr const char* kNames[] = {"silu",      "gelu_quick", "gelu", "gelu_tanh",
                                    "hardswish", "mish",       "rsqrt"};
  Value* x = m.value("x");
  // A constant of higher rank may have given the result another shape.
  if (!(x->type() == m.root()->output()->type()) || !is_float(x->dtype()))
    return static_cast<Value*>(nullptr);
  return graph.emit(kNames[Op], {x}, {}, m.loc(), m.root());
}

}  // namespace

std::span<const Rewrite> unary_rewrites() {
  static const std::vector<Rewrite> rewrites = {
      {"silu", mul(x(), unary("sigmoid", x())), one_op<0>},
      {"gelu_quick", mul(x(), unary("sigmoid", times(x(), 1.702))), one_op<1>},
      {"gelu", half_of(erf_part()), one_op<2>},
      {"gelu_tanh", half_of(tanh_part()), one_op<3>},
      {"hardswish",
       P::either({times(mul(x(), relu6_of_x_plus_3()), 1.0 / 6),
                  mul(x(), times(relu6_of_x_plus_3(), 1.0 / 6)), mul(x(), hard_sigmoid_of_x())}),
       one_op<4>},
      {"mish", mul(x(), unary("tanh", unary("softplus", x()))), one_op<5>},
      {"rsqrt",
       P::either({unary("reciprocal", unary("sqrt", x())), div(number(1), unary("sqrt", x()))}),
       one_op<6>},
  };
  return rewrites;
}

}  // namespace qc
