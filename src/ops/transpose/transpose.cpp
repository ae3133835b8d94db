#include <algorithm>
#include <numeric>

#include "ir/capability.h"
#include "ir/index_formula.h"
#include "ir/padding.h"
#include "ir/slice_views.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "quant/lifting.h"

namespace qc {

/// Axis i of the output is axis perm[i] of the operand.
class Transpose final : public ViewNode<Transpose>,
                        public HasFormula,
                        public IsTranspose,
                        public MovesScales,
                        public ViewsSlices,
                        public AliasesOperand,
                        public TakesPadding {
 public:
  static const OpInfo kInfo;
  Ints perm;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("perm", perm); }

  Result<Ok> pad(PaddedNode& c) override {
    Padding to;
    for (int64_t axis : perm) to.push_back(c.parts(0, axis));
    c.set_result(std::move(to));
    return Ok{};
  }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    Ints sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    bool valid = static_cast<int64_t>(perm.size()) == x.rank();
    for (size_t i = 0; valid && i < sorted.size(); ++i)
      valid = sorted[i] == static_cast<int64_t>(i);
    if (!valid) {
      return error(Code::attribute, loc(), "perm {} is not an order of the axes of {}",
                   str(AttrValue(perm)), str(x));
    }
    Type y(x.dtype, {});
    for (int64_t axis : perm) y.shape.push_back(x.shape[static_cast<size_t>(axis)]);
    y.format = x.format;
    if (x.format && x.format->granularity != Granularity::tensor) {
      Ints back(perm.size());
      for (size_t i = 0; i < perm.size(); ++i)
        back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
      y.format = std::make_shared<Format>(transposed_scales(*x.format, x.shape, back));
    }
    return std::vector<Type>{y};
  }
  bool is_identity() const override { return std::is_sorted(perm.begin(), perm.end()); }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    if (!in[0]) return std::nullopt;
    IndexFormula out = *in[0];
    for (Affine& term : out.terms) {
      const Ints from = term.step;
      for (size_t i = 0; i < perm.size(); ++i) term.step[i] = from[static_cast<size_t>(perm[i])];
    }
    return out;
  }
  const Ints& permutation() const override { return perm; }
  std::unique_ptr<Node> with_permutation(Ints permutation) const override {
    auto node = std::make_unique<Transpose>(*this);
    node->perm = std::move(permutation);
    return node;
  }
  Laid laid_over(size_t, const Format& result) const override {
    return {transposed_scales(result, output()->shape(), perm), {}};
  }
  std::unique_ptr<Node> scale_mover(const Format& result) const override {
    return result.granularity == Granularity::group ? clone() : nullptr;
  }
  std::optional<OfWhole> of_whole(const Dims&, const IndexRange& part) const override {
    const auto at = std::find(perm.begin(), perm.end(), part.axis);
    return OfWhole{clone(), {at - perm.begin(), part.start, part.size}};
  }
  std::optional<Dims> contents() const override {
    if (perm.size() > 1) return std::nullopt;
    return known_ints(input(0));
  }
  std::optional<StridedAlias> alias(const Dims& x) const override {
    return StridedAlias{view(x, x).from, 0};
  }
  Strided view(const Dims& x, const Dims& y) const {
    Strided s{output()->shape(), {}, y};
    for (int64_t axis : perm) s.from.push_back(x[static_cast<size_t>(axis)]);
    return s;
  }
};

const OpInfo Transpose::kInfo = {
    .name = "transpose",
    .traits = kMovesElements | kAnyLayout,
    .summary = "the same elements with the axes in another order",
};

namespace {

Ints in_order(int64_t rank) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

Result<Values> permuted(const Import& m, Value* x, Ints perm) {
  for (int64_t& axis : perm) {
    QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  }
  if (perm == in_order(x->rank())) return Values{x};
  QC_ASSIGN(Value * y, m.emit("transpose", {x}, {{"perm", perm}}));
  return Values{y};
}

Ints reversed(int64_t rank) {
  Ints perm = in_order(rank);
  std::reverse(perm.begin(), perm.end());
  return perm;
}

Result<Values> swapped(const Import& m, Value* x, int64_t a, int64_t b) {
  if (x->rank() == 0) return Values{x};
  QC_ASSIGN(a, resolve_axis(a, x->rank(), m.loc()));
  QC_ASSIGN(b, resolve_axis(b, x->rank(), m.loc()));
  Ints perm = in_order(x->rank());
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return permuted(m, x, perm);
}

Result<Values> onnx_transpose(Import& m) {
  QC_ASSIGN(Ints perm, m.ints("perm", reversed(m.in(0)->rank())));
  return permuted(m, m.in(0), perm);
}

Result<Values> aten_permute(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Ints dims, m.ints("dims", {}));
  return permuted(m, x, dims);
}

Result<Values> aten_transpose(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  const bool axes = m.given("axis0");
  QC_ASSIGN(int64_t a, m.i(axes ? "axis0" : "dim0", 0));
  QC_ASSIGN(int64_t b, m.i(axes ? "axis1" : "dim1", 0));
  return swapped(m, x, a, b);
}

Result<Values> aten_t(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (x->rank() > 2) return m.fail(Code::shape, "t() of a tensor of rank {}", x->rank());
  return permuted(m, x, reversed(x->rank()));
}

Result<Values> aten_numpy_t(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return permuted(m, x, reversed(x->rank()));
}

/// mT, mH and adjoint of real tensors.
Result<Values> aten_matrix_t(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (x->rank() < 2)
    return m.fail(Code::shape, "matrix transpose of a tensor of rank {}", x->rank());
  return swapped(m, x, -2, -1);
}

Result<Values> aten_movedim(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Ints from, m.ints("source", {}));
  QC_ASSIGN(Ints to, m.ints("destination", {}));
  if (from.size() != to.size()) {
    return m.fail(Code::attribute, "moves {} axes to {} places", from.size(), to.size());
  }
  Ints perm(static_cast<size_t>(x->rank()), -1);
  std::vector<bool> moved(perm.size(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    QC_ASSIGN(from[i], resolve_axis(from[i], x->rank(), m.loc()));
    QC_ASSIGN(to[i], resolve_axis(to[i], x->rank(), m.loc()));
    if (moved[static_cast<size_t>(from[i])] || perm[static_cast<size_t>(to[i])] >= 0) {
      return m.fail(Code::attribute, "an axis is moved twice");
    }
    moved[static_cast<size_t>(from[i])] = true;
    perm[static_cast<size_t>(to[i])] = from[i];
  }
  int64_t next = 0;
  for (int64_t& axis : perm) {
    if (axis >= 0) continue;
    while (moved[static_cast<size_t>(next)]) ++next;
    axis = next++;
  }
  return permuted(m, x, perm);
}

constexpr ImportRow kRows[] = {
    {"", "Transpose", onnx_transpose},
    {"aten", "permute.default", aten_permute, 1, Alias::view},
    {"aten", "permute_copy.default", aten_permute},
    {"aten", "transpose.int", aten_transpose, 1, Alias::view},
    {"aten", "transpose_copy.int", aten_transpose},
    {"aten", "swapaxes.default", aten_transpose, 1, Alias::view},
    {"aten", "swapdims.default", aten_transpose, 1, Alias::view},
    {"aten", "t.default", aten_t, 1, Alias::view},
    {"aten", "t_copy.default", aten_t},
    {"aten", "numpy_T.default", aten_numpy_t, 1, Alias::view},
    {"aten", "mT.default", aten_matrix_t, 1, Alias::view},
    {"aten", "mH.default", aten_matrix_t, 1, Alias::view},
    {"aten", "adjoint.default", aten_matrix_t, 1, Alias::view},
    {"aten", "movedim.int", aten_movedim, 1, Alias::view},
    {"aten", "movedim.intlist", aten_movedim, 1, Alias::view},
    {"aten", "moveaxis.int", aten_movedim, 1, Alias::view},
    {"aten", "moveaxis.intlist", aten_movedim, 1, Alias::view},
};

}  // namespace

void register_transpose(Registration& r) {
  r.op<Transpose>();
  r.imports(kRows);
}

}  // namespace qc
