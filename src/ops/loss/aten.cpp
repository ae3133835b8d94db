// PyTorch's losses of class labels.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/loss/loss.h"

namespace qc {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Value* total(Compose& c, Value* x) { return c.emit("reduce_sum", {x}, {{"keepdims", false}}); }

/// Log probabilities [n, classes, ...] or [classes], and a label for each place.
struct Terms {
  Compose& c;
  Value* x;
  int64_t axis;             // of the classes
  Value* label;             // 0 where the place does not count
  Value* skip;              // where it does not count
  Value* weight = nullptr;  // of each place, 0 where it does not count

  Terms(Compose& compose, Value* log_prob, Value* labels, Value* class_weight)
      : c(compose), x(log_prob), axis(x->rank() > 1 ? 1 : 0) {
    const Import& m = c.import();
    const int64_t ignored = c.take(m.i("ignore_index", -100));
    skip = c.emit("eq", {labels, m.scalar_int(ignored, labels->dtype())});
    label = c.emit("where", {skip, m.scalar_int(0, labels->dtype()), labels});
    label = c.cast(label, DType::i64);
    if (class_weight) weight = c.emit("gather", {class_weight, label}, {{"axis", int64_t{0}}});
    if (!weight) {
      weight = c.ok() ? c.emit("expand", {c.number(1, x)}, {{"shape", label->shape()}}) : nullptr;
    }
    weight = counted(weight);
  }

  /// Zero at places that do not count.
  Value* counted(Value* v) { return c.ok() ? c.emit("where", {skip, c.number(0, x), v}) : v; }

  /// Minus the log probability of each label times its weight.
  Value* losses() {
    if (!c.ok()) return nullptr;
    Dims shape = label->shape();
    shape.insert(shape.begin() + axis, Dim(1));
    Value* picked = c.emit("gather_elements", {x, c.reshape(label, shape)}, {{"axis", axis}});
    picked = c.ok() ? c.emit("neg", {c.reshape(picked, label->shape())}) : nullptr;
    return counted(c.emit("mul", {picked, weight}));
  }

  Value* reduced(Value* loss, int64_t reduction) {
    if (reduction == kNone) return loss;
    if (reduction == kSum) return total(c, loss);
    return c.emit("div", {total(c, loss), total(c, weight)});
  }
};

/// The loss, and the sum of the weights it was divided by.
Result<Values> aten_nll_loss(Import& m) {
  Compose c(m);
  Value* x = c.take(m.tensor("self"));
  Value* label = c.take(m.tensor("target"));
  Value* weight = c.take(m.optional_tensor("weight"));
  const int64_t reduction = c.take(m.i("reduction", kMean));
  if (!c.ok()) return c.done({});
  Terms terms(c, x, label, weight);
  Value* loss = terms.reduced(terms.losses(), reduction);
  return c.done({loss, m.wants(1) ? total(c, terms.weight) : loss});
}

/// The class weights along the axis of the classes.
Value* along(Compose& c, Value* weight, const Value* x, int64_t axis) {
  Dims shape(x->shape().size(), Dim(1));
  shape[static_cast<size_t>(axis)] = weight->shape()[0];
  return c.reshape(weight, shape);
}

/// Of probabilities instead of labels, each loss is the sum over the classes.
Value* soft_loss(Compose& c, Value* x, Value* target, Value* weight, int64_t reduction,
                 double smoothing) {
  const int64_t axis = x->rank() > 1 ? 1 : 0;
  const Dim classes = x->shape()[static_cast<size_t>(axis)];
  if (smoothing != 0) {
    if (!classes.is_static()) c.fail(Code::dim, "label smoothing over {} classes", classes.str());
    if (!c.ok()) return nullptr;
    const double each = smoothing / static_cast<double>(classes.value());
    target =
        c.emit("add", {c.emit("mul", {target, c.number(1 - smoothing, x)}), c.number(each, x)});
  }
  Value* loss = c.emit("mul", {x, target});
  if (weight && c.ok()) loss = c.emit("mul", {loss, along(c, weight, x, axis)});
  loss = c.emit("neg", {c.emit("reduce_sum", {loss}, {{"axes", Ints{axis}}, {"keepdims", false}})});
  if (reduction == kNone) return loss;
  return c.emit(reduction == kMean ? "reduce_mean" : "reduce_sum", {loss}, {{"keepdims", false}});
}

/// (1 - smoothing) of the loss of the label and smoothing of the mean over all classes.
Value* smoothed(Terms& terms, Value* loss, Value* weight, int64_t reduction, double smoothing) {
  Compose& c = terms.c;
  Value* x = terms.x;
  const Dim classes = x->shape()[static_cast<size_t>(terms.axis)];
  if (!classes.is_static()) c.fail(Code::dim, "label smoothing over {} classes", classes.str());
  if (!c.ok()) return nullptr;
  Value* all = weight ? c.emit("mul", {x, along(c, weight, x, terms.axis)}) : x;
  all = c.emit("neg",
               {c.emit("reduce_sum", {all}, {{"axes", Ints{terms.axis}}, {"keepdims", false}})});
  all = terms.reduced(terms.counted(all), reduction);
  if (!c.ok()) return nullptr;
  const double share = smoothing / static_cast<double>(classes.value());
  return c.emit("add", {c.emit("mul", {loss, c.number(1 - smoothing, x)}),
                        c.emit("mul", {all, c.number(share, x)})});
}

Result<Values> aten_cross_entropy(Import& m) {
  Compose c(m);
  Value* x = c.take(m.tensor("self"));
  Value* target = c.take(m.tensor("target"));
  Value* weight = c.take(m.optional_tensor("weight"));
  const int64_t reduction = c.take(m.i("reduction", kMean));
  const double smoothing = c.take(m.f("label_smoothing", 0));
  if (!c.ok()) return c.done({});
  if (x->rank() == 0) return m.fail(Code::shape, "cross entropy of {}", str(x->type()));
  x = c("LogSoftmax", {x}, {{"axis", int64_t{x->rank() > 1 ? 1 : 0}}});
  if (!c.ok()) return c.done({});
  if (is_float(target->dtype()))
    return c.done({soft_loss(c, x, target, weight, reduction, smoothing)});
  Terms terms(c, x, target, weight);
  Value* loss = terms.reduced(terms.losses(), reduction);
  if (smoothing != 0) loss = smoothed(terms, loss, weight, reduction, smoothing);
  return c.done({loss});
}

constexpr ImportRow kAtenRows[] = {
    {"aten", "nll_loss.default", in_f32<aten_nll_loss>},
    {"aten", "nll_loss2d.default", in_f32<aten_nll_loss>},
    {"aten", "nll_loss_nd.default", in_f32<aten_nll_loss>},
    {"aten", "nll_loss_forward.default", in_f32<aten_nll_loss>},
    {"aten", "nll_loss2d_forward.default", in_f32<aten_nll_loss>},
    {"aten", "cross_entropy_loss.default", in_f32<aten_cross_entropy>},
};

}  // namespace

std::span<const ImportRow> loss_aten_rows() { return kAtenRows; }

}  // namespace qc
