// Import rows of ops that only hand their operand on: no node is made for them.
#include "ops/common/range.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

Result<Values> onnx_identity(Import& m) { return Values{m.in(0)}; }

/// The second result of Dropout says which elements were kept: all of them.
Result<Values> onnx_dropout(Import& m) {
  Value* x = m.in(0);
  if (m.version() >= 12 && m.has(2)) {
    QC_ASSIGN(Tensor training, m.constant(m.in(2), "training_mode"));
    bool drops = true;
    if (m.has(1)) {
      QC_ASSIGN(Tensor ratio, m.constant(m.in(1), "ratio"));
      drops = ratio.size() != 1 || ratio.as_double(0) != 0;
    }
    if (training.size() != 1 || (training.as_int(0) != 0 && drops)) {
      return m.fail(Code::unsupported, "dropout in training mode; export the model after .eval()");
    }
  }
  Values out{x};
  if (m.wants(1)) {
    Value* keep_scalar = m.scalar_int(1, m.version() >= 10 ? DType::boolean : x->dtype());
    QC_ASSIGN(Value * mask, m.emit("expand", {keep_scalar}, {{"shape", x->shape()}}));
    out.push_back(mask);
  }
  return out;
}

/// The one operand: `input`, or `self` as the in-place forms call it.
Result<Value*> the_operand(const Import& m) { return m.tensor(m.given("self") ? "self" : "input"); }

Result<Values> aten_identity(Import& m) {
  QC_ASSIGN(Value * x, the_operand(m));
  return Values{x};
}

Result<Values> aten_dropout(Import& m) {
  QC_ASSIGN(Value * x, the_operand(m));
  QC_ASSIGN(bool train, m.b("train", false));
  QC_ASSIGN(double p, m.f("p", 0.5));
  if (train && p != 0) {
    return m.fail(Code::unsupported, "dropout in training mode; export the model after .eval()");
  }
  return Values{x};
}

Result<Values> aten_native_dropout(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(bool train, m.b("train", false));
  if (train)
    return m.fail(Code::unsupported, "dropout in training mode; export the model after .eval()");
  QC_ASSIGN(Value * mask,
            m.emit("expand", {m.scalar_int(1, DType::boolean)}, {{"shape", x->shape()}}));
  return Values{x, mask};
}

/// The source with the type and shape of the target, whose contents are overwritten.
Result<Values> aten_copy(Import& m) {
  QC_ASSIGN(Value * to, m.tensor("self"));
  QC_ASSIGN(Value * from, m.tensor("src"));
  QC_ASSIGN(from, m.cast(from, to->dtype()));
  if (from->shape() == to->shape()) return Values{from};
  QC_ASSIGN(Value * y, m.emit("expand", {from}, {{"shape", to->shape()}}));
  return Values{y};
}

Result<Values> aten_atleast(const Import& m, size_t rank) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  Dims shape = x->shape();
  if (shape.size() >= rank) return Values{x};
  if (shape.empty()) shape.push_back(Dim(1));
  if (shape.size() == 1 && rank > 1) shape.insert(shape.begin(), Dim(1));
  if (shape.size() < rank) shape.push_back(Dim(1));
  QC_ASSIGN(Value * y, reshaped(m, x, shape));
  return Values{y};
}

Result<Values> aten_atleast_1d(Import& m) { return aten_atleast(m, 1); }
Result<Values> aten_atleast_2d(Import& m) { return aten_atleast(m, 2); }
Result<Values> aten_atleast_3d(Import& m) { return aten_atleast(m, 3); }

constexpr ImportRow kRows[] = {
    {"", "Identity", onnx_identity},
    {"", "Dropout", onnx_dropout},
    {"aten", "clone.default", aten_identity},
    {"aten", "contiguous.default", aten_identity, 1, Alias::view},
    {"aten", "alias.default", aten_identity, 1, Alias::view},
    {"aten", "alias_copy.default", aten_identity},
    {"aten", "detach.default", aten_identity, 1, Alias::view},
    {"aten", "detach_copy.default", aten_identity},
    {"aten", "lift_fresh_copy.default", aten_identity},
    {"aten", "resolve_conj.default", aten_identity, 1, Alias::view},
    {"aten", "resolve_neg.default", aten_identity, 1, Alias::view},
    {"aten", "conj.default", aten_identity, 1, Alias::view},
    {"aten", "requires_grad.default", aten_identity, 1, Alias::view},
    {"aten", "dropout.default", aten_dropout, 1, Alias::view},
    {"aten", "feature_dropout.default", aten_dropout, 1, Alias::view},
    {"aten", "alpha_dropout.default", aten_dropout, 1, Alias::view},
    {"aten", "feature_alpha_dropout.default", aten_dropout, 1, Alias::view},
    {"aten", "native_dropout.default", aten_native_dropout},
    {"aten", "copy.default", aten_copy},
    {"aten", "atleast_1d.default", aten_atleast_1d, 1, Alias::view},
    {"aten", "atleast_2d.default", aten_atleast_2d, 1, Alias::view},
    {"aten", "atleast_3d.default", aten_atleast_3d, 1, Alias::view},
};

}  // namespace

void register_identity(Registration& r) { r.imports(kRows); }

}  // namespace qc
