// ONNX's training optimizers: one update of every tensor, written out.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

/// The operands of an update: rate R, step T and then `kinds` groups of n tensors each.
struct Update {
  Compose c;
  Value* rate = nullptr;
  Value* step = nullptr;
  size_t n = 0;

  Update(Import& m, size_t kinds) : c(m) {
    rate = c.take(operand(m, 0));
    step = c.take(operand(m, 1));
    if (m.input_count() < 2 + kinds || (m.input_count() - 2) % kinds != 0) {
      c.fail(Code::graph, "{} operands do not make groups of {}", m.input_count(), kinds);
    }
    n = c.ok() ? (m.input_count() - 2) / kinds : 0;
  }
  /// Tensor i of group `kind`.
  Value* in(size_t kind, size_t i) { return c.take(operand(c.import(), 2 + kind * n + i)); }
  Value* times(Value* x, double factor) {
    return c.ok() ? c("Mul", {x, c.number(factor, x)}) : nullptr;
  }
  /// The gradient with the regularisation term: norm * x + g.
  Value* gradient(size_t i) {
    const double norm = c.take(c.import().f("norm_coefficient", 0));
    return c("Add", {times(in(0, i), norm), in(1, i)});
  }
  /// `value` when the step is past the first, else `first`.
  Value* after_first(Value* value, Value* first) {
    if (!c.ok()) return nullptr;
    Value* zero = c.import().scalar_int(0, step->dtype());
    return c("Where", {c("Greater", {step, zero}), value, first});
  }
};

/// Results in the order of the op: all of the first kind, then all of the second, ...
Result<Values> results(Update& u, const std::vector<Values>& kinds) {
  Values out;
  for (const Values& kind : kinds) out.insert(out.end(), kind.begin(), kind.end());
  return u.c.done(out);
}

Result<Values> adagrad(Import& m) {
  Update u(m, 3);
  const double decay = u.c.take(m.f("decay_factor", 0)), epsilon = u.c.take(m.f("epsilon", 1e-6f));
  std::vector<Values> out(2);
  Value* slow = u.times(u.c.cast(u.step, DType::f32), decay);
  Value* rate = u.c("Div", {u.rate, u.c("Add", {u.c.number(1, DType::f32), slow})});
  for (size_t i = 0; i < u.n; ++i) {
    Value* g = u.gradient(i);
    Value* h = u.c("Add", {u.in(2, i), u.c("Mul", {g, g})});
    Value* adaptive = u.c("Add", {u.c("Sqrt", {h}), u.c.number(epsilon, DType::f32)});
    out[0].push_back(u.c("Sub", {u.in(0, i), u.c("Div", {u.c("Mul", {rate, g}), adaptive})}));
    out[1].push_back(h);
  }
  return results(u, out);
}

Result<Values> adam(Import& m) {
  Update u(m, 4);
  Compose& c = u.c;
  const double alpha = c.take(m.f("alpha", 0.9f)), beta = c.take(m.f("beta", 0.999f));
  const double epsilon = c.take(m.f("epsilon", 1e-6f)),
               post = c.take(m.f("norm_coefficient_post", 0));
  auto one_minus_power = [&](double base) {
    return c("Sub", {c.number(1, DType::f32),
                     c("Pow", {c.number(base, DType::f32), c.cast(u.step, DType::f32)})});
  };
  Value* rate =
      c("Mul", {u.rate, c("Div", {c("Sqrt", {one_minus_power(beta)}), one_minus_power(alpha)})});
  rate = u.after_first(rate, u.rate);
  std::vector<Values> out(3);
  for (size_t i = 0; i < u.n; ++i) {
    Value* g = u.gradient(i);
    Value* v = c("Add", {u.times(u.in(2, i), alpha), u.times(g, 1 - alpha)});
    Value* h = c("Add", {u.times(u.in(3, i), beta), u.times(c("Mul", {g, g}), 1 - beta)});
    Value* root = c("Add", {c("Sqrt", {h}), c.number(epsilon, DType::f32)});
    Value* x = c("Sub", {u.in(0, i), c("Div", {c("Mul", {rate, v}), root})});
    out[0].push_back(u.times(x, 1 - post));
    out[1].push_back(v);
    out[2].push_back(h);
  }
  return results(u, out);
}

Result<Values> momentum(Import& m) {
  Update u(m, 3);
  Compose& c = u.c;
  const double alpha = c.take(m.f("alpha", 0)), beta = c.take(m.f("beta", 0));
  const bool nesterov = c.take(m.s("mode", "standard")) == "nesterov";
  Value* weight = u.after_first(c.number(beta, DType::f32), c.number(1, DType::f32));
  std::vector<Values> out(2);
  for (size_t i = 0; i < u.n; ++i) {
    Value* g = u.gradient(i);
    Value* v = c("Add", {u.times(u.in(2, i), alpha), c("Mul", {weight, g})});
    Value* direction = nesterov ? c("Add", {g, u.times(v, alpha)}) : v;
    out[0].push_back(c("Sub", {u.in(0, i), c("Mul", {u.rate, direction})}));
    out[1].push_back(v);
  }
  return results(u, out);
}

constexpr ImportRow kRows[] = {
    {"ai.onnx.preview.training", "Adagrad", adagrad},
    {"ai.onnx.preview.training", "Adam", adam},
    {"ai.onnx.preview.training", "Momentum", momentum},
};

}  // namespace

void register_optimizer(Registration& r) { r.imports(kRows); }

}  // namespace qc
