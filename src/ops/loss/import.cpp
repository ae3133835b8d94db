// ONNX's losses, composed of gathers and reductions.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/loss/loss.h"

namespace qc {
namespace {

/// -weight[t] * x[n, t, ...] for the label t of every place, reduced as the op asks. Places whose
/// label is `ignore_index` count nothing.
Value* picked_loss(Compose& c, Value* x, Value* label, Value* weight) {
  const Import& m = c.import();
  const std::string reduction = c.take(m.s("reduction", "mean"));
  const bool ignores = m.given("ignore_index");
  const int64_t ignored = c.take(m.i("ignore_index", 0));
  if (!c.ok()) return nullptr;
  Value* axis = c.ints({1});
  Value* skip = nullptr;
  if (ignores) {
    skip = c("Equal", {label, m.scalar_int(ignored, label->dtype())});
    label = c("Where", {skip, m.scalar_int(0, label->dtype()), label});
  }
  Value* index = c("Unsqueeze", {label, axis});
  Value* loss =
      c("Neg", {c("Squeeze", {c("GatherElements", {x, index}, {{"axis", int64_t{1}}}), axis})});
  Value* weights = nullptr;
  if (weight) weights = c("Gather", {weight, label});
  if (skip) {
    Value* one = weights ? weights : c.number(1, x);
    weights = c("Where", {skip, c.number(0, x), one});
  }
  if (weights) loss = c("Mul", {loss, weights});
  if (reduction == "none") return loss;
  const Compose::Args all = {{"keepdims", int64_t{0}}};
  if (reduction == "sum") return c("ReduceSum", {loss}, all);
  if (reduction != "mean") c.fail(Code::attribute, "reduction '{}'", reduction);
  if (!weights) return c("ReduceMean", {loss}, all);
  return c("Div", {c("ReduceSum", {loss}, all), c("ReduceSum", {weights}, all)});
}

Result<Values> negative_log_likelihood(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* label = c.take(operand(m, 1));
  return c.done({picked_loss(c, x, label, m.in(2))});
}

Result<Values> softmax_cross_entropy(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* label = c.take(operand(m, 1));
  Value* log_prob = c("LogSoftmax", {x}, {{"axis", int64_t{1}}});
  return c.done({picked_loss(c, log_prob, label, m.in(2)), log_prob});
}

constexpr ImportRow kRows[] = {
    {"", "NegativeLogLikelihoodLoss", negative_log_likelihood, 12},
    {"", "SoftmaxCrossEntropyLoss", softmax_cross_entropy, 12},
};

}  // namespace

void register_loss(Registration& r) {
  r.imports(kRows);
  r.imports(loss_aten_rows());
}

}  // namespace qc
