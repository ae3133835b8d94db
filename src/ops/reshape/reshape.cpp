#include "interp/eval.h"
#include "ir/index_formula.h"
#include "ir/relations.h"
#include "ir/slice_views.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"
#include "program/strided_alias.h"
#include "quant/lifting.h"

namespace qc {

/// The same elements in the same order under another shape.
class Reshape final : public OpNode<Reshape>,
                      public HasFormula,
                      public MovesScales,
                      public ViewsSlices,
                      public AliasesOperand {
 public:
  static const OpInfo kInfo;
  Dims shape;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("shape", shape); }

  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    if (differ(product(x.shape), product(shape))) {
      return error(Code::shape, loc(), "cannot reshape {} to {}", str(x.shape), str(shape));
    }
    Type y = moved(x, shape);
    y.layout = x.layout;
    if (x.format && !y.format) {
      if (auto split = split_scales(*x.format, x.shape, shape)) {
        y.format = std::make_shared<Format>(std::move(*split));
      }
    }
    return std::vector<Type>{y};
  }
  std::optional<Dims> contents() const override { return known_ints(input(0)); }
  bool is_identity() const override { return shape == input_type(0).shape; }
  Result<Ok> eval(EvalContext& c) const override {
    c.set_out(0, c.in(0).reshaped(static_dims(shape)));
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    if (const auto at = strided_alias(output())) {
      l.alias_strided(0, l.in(0), at->strides);
    } else {
      l.alias(0, l.in(0));
    }
    return Ok{};
  }
  /// Where axes are split, and only axes of size 1 come or go.
  std::optional<StridedAlias> alias(const Dims& x) const override {
    const Dims& from = input_type(0).shape;
    Dims strides(shape.size(), Dim(1));
    size_t i = from.size();
    for (size_t o = shape.size(); o > 0;) {
      if (shape[o - 1] == Dim(1)) {
        --o;
        continue;
      }
      while (i > 0 && from[i - 1] == Dim(1)) --i;
      if (i == 0) return std::nullopt;
      --i;
      Dim taken(1);
      for (; o > 0 && !(taken == from[i]); --o) {
        strides[o - 1] = x[i] * taken;
        taken = taken * shape[o - 1];
      }
      if (!(taken == from[i])) return std::nullopt;
    }
    return StridedAlias{std::move(strides), 0};
  }
  /// Where only axes of size 1 come or go, or all elements are equal.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    const Dims& from = input_type(0).shape;
    std::optional<IndexFormula> out = even_formula(in[0], shape.size());
    if (out || !in[0]) return out;
    Ints at;  // the axis of the operand that each axis of the result is, -1 for a new one
    size_t i = 0;
    for (const Dim& size : shape) {
      while (i < from.size() && from[i] == Dim(1)) ++i;
      const bool is_new = size == Dim(1);
      if (!is_new && (i == from.size() || !in.same(from[i], size))) return std::nullopt;
      at.push_back(is_new ? -1 : static_cast<int64_t>(i++));
    }
    while (i < from.size() && from[i] == Dim(1)) ++i;
    if (i < from.size()) return std::nullopt;
    out = *in[0];
    for (Affine& term : out->terms) {
      Ints step;
      for (int64_t a : at) step.push_back(a < 0 ? 0 : term.step[static_cast<size_t>(a)]);
      term.step = std::move(step);
    }
    return out;
  }
  Laid laid_over(size_t, const Format& result) const override {
    return reshaped_scales(result, shape, input_type(0).shape);
  }
  std::unique_ptr<Node> scale_mover(const Format& result) const override {
    if (result.granularity != Granularity::group) return nullptr;
    auto node = std::make_unique<Reshape>(*this);
    node->shape = scale_shape(result, shape);
    return node;
  }
  /// The axis of the part must be some axes of the result, of which the first then has the part.
  std::optional<OfWhole> of_whole(const Dims& whole, const IndexRange& slice) const override {
    const auto axis = static_cast<ptrdiff_t>(slice.axis);
    const Dim outer = product(Dims(whole.begin(), whole.begin() + axis));
    const Dim inner = product(Dims(whole.begin() + axis + 1, whole.end()));
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto at = shape.begin() + static_cast<ptrdiff_t>(i);
      if (!shape[i].is_static() || shape[i].value() < 1 || slice.size % shape[i].value() != 0) {
        continue;
      }
      const int64_t below = slice.size / shape[i].value();  // elements of one index of axis i
      if (!(product(Dims(shape.begin(), at)) == outer)) continue;
      if (!(product(Dims(at + 1, shape.end())) == inner * Dim(below))) continue;
      const Dim& all = whole[static_cast<size_t>(slice.axis)];
      if (!all.is_static() || all.value() % below != 0 || slice.start % below != 0) continue;
      auto view = std::make_unique<Reshape>(*this);
      view->shape[i] = Dim(all.value() / below);
      return OfWhole{std::move(view),
                     {static_cast<int64_t>(i), slice.start / below, shape[i].value()}};
    }
    return std::nullopt;
  }
};

const OpInfo Reshape::kInfo = {
    .name = "reshape",
    .traits = kMovesElements | kReshapes,
    .summary = "the same elements in row-major order under another shape",
};

namespace {

Result<Values> to_shape(const Import& m, Value* x, const Dims& shape) {
  if (shape == x->shape()) return Values{x};
  QC_ASSIGN(Value * y, m.emit("reshape", {x}, {{"shape", shape}}));
  return Values{y};
}

/// Replaces the one -1 by what is left of the elements.
Result<Dims> resolve_sizes(const Import& m, Value* x, Dims sizes) {
  int unknown = -1;
  Dim known(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == Dim(-1)) {
      if (unknown >= 0) return m.fail(Code::attribute, "more than one size of the new shape is -1");
      unknown = static_cast<int>(i);
    } else {
      if (sizes[i].is_static() && sizes[i].value() < 0) {
        return m.fail(Code::attribute, "the new shape has a size of {}", sizes[i].value());
      }
      known = known * sizes[i];
    }
  }
  if (unknown >= 0) {
    const Dim total = product(x->shape());
    if (known == Dim(0)) return m.fail(Code::shape, "cannot infer a size of -1 beside a size of 0");
    // Equal factors cancel, so that [n, c, h] to [n, -1] gives c*h and not floordiv(n*c*h, n).
    Dims rest = x->shape();
    bool cancelled = true;
    for (size_t i = 0; i < sizes.size() && cancelled; ++i) {
      if (static_cast<int>(i) == unknown || sizes[i].is_static()) continue;
      auto it = std::find(rest.begin(), rest.end(), sizes[i]);
      cancelled = it != rest.end();
      if (cancelled) rest.erase(it);
    }
    Dim number(1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<int>(i) != unknown && sizes[i].is_static()) number = number * sizes[i];
    }
    sizes[static_cast<size_t>(unknown)] =
        cancelled ? floordiv(product(rest), number) : floordiv(total, known);
  }
  return sizes;
}

Result<Values> onnx_reshape(Import& m) {
  QC_ASSIGN(Dims sizes, m.known(m.in(1), "the new shape"));
  QC_ASSIGN(bool allow_zero, m.b("allowzero", false));
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!allow_zero && sizes[i] == Dim(0)) {
      if (i >= m.in(0)->shape().size()) {
        return m.fail(Code::attribute,
                      "a size of 0 copies input dimension {}, which does not exist", i);
      }
      sizes[i] = m.in(0)->shape()[i];
    }
  }
  QC_ASSIGN(sizes, resolve_sizes(m, m.in(0), std::move(sizes)));
  return to_shape(m, m.in(0), sizes);
}

Result<Values> onnx_flatten(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", 1));
  const Dims& shape = m.in(0)->shape();
  const int64_t rank = m.in(0)->rank();
  if (axis < -rank || axis > rank) return m.fail(Code::attribute, "axis {} is out of range", axis);
  if (axis < 0) axis += rank;
  Dim rows(1), columns(1);
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * shape[static_cast<size_t>(i)];
  return to_shape(m, m.in(0), {rows, columns});
}

/// The axes of Squeeze and Unsqueeze: an attribute up to version 12, an operand from 13 on.
Result<Ints> onnx_axes(Import& m) {
  if (m.version() >= 13) return m.has(1) ? m.known_static(m.in(1), "axes") : Result<Ints>(Ints{});
  return m.ints("axes", {});
}

Result<Values> squeeze(const Import& m, Value* x, const Ints& axes, bool only_ones) {
  Dims shape;
  std::vector<bool> drop(x->shape().size(), false);
  for (int64_t axis : axes) {
    QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
    const Dim& size = x->shape()[static_cast<size_t>(axis)];
    if (!(size == Dim(1))) {
      if (only_ones) continue;
      return m.fail(Code::shape, "cannot squeeze axis {} of size {}", axis, size.str());
    }
    drop[static_cast<size_t>(axis)] = true;
  }
  for (size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) shape.push_back(x->shape()[i]);
  }
  return to_shape(m, x, shape);
}

Result<Values> squeeze_all(const Import& m, Value* x) {
  Dims shape;
  for (const Dim& d : x->shape()) {
    if (!(d == Dim(1))) shape.push_back(d);
  }
  return to_shape(m, x, shape);
}

Result<Values> onnx_squeeze(Import& m) {
  QC_ASSIGN(Ints axes, onnx_axes(m));
  return axes.empty() ? squeeze_all(m, m.in(0)) : squeeze(m, m.in(0), axes, false);
}

Result<Values> unsqueeze(const Import& m, Value* x, const Ints& axes) {
  const int64_t rank = x->rank() + static_cast<int64_t>(axes.size());
  std::vector<bool> fresh(static_cast<size_t>(rank), false);
  for (int64_t axis : axes) {
    QC_ASSIGN(axis, resolve_axis(axis, rank, m.loc()));
    if (fresh[static_cast<size_t>(axis)])
      return m.fail(Code::attribute, "axis {} is given twice", axis);
    fresh[static_cast<size_t>(axis)] = true;
  }
  Dims shape;
  size_t next = 0;
  for (bool is_fresh : fresh) shape.push_back(is_fresh ? Dim(1) : x->shape()[next++]);
  return to_shape(m, x, shape);
}

Result<Values> onnx_unsqueeze(Import& m) {
  QC_ASSIGN(Ints axes, onnx_axes(m));
  return unsqueeze(m, m.in(0), axes);
}

Result<Values> aten_view(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims sizes, m.dims(m.given("size") ? "size" : "shape"));
  QC_ASSIGN(sizes, resolve_sizes(m, x, std::move(sizes)));
  return to_shape(m, x, sizes);
}

Result<Values> aten_view_as(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * other, m.tensor("other"));
  return to_shape(m, x, other->shape());
}

Result<Values> aten_flatten(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t start, m.i("start_dim", 0));
  QC_ASSIGN(int64_t end, m.i("end_dim", -1));
  if (x->rank() == 0) return to_shape(m, x, {Dim(1)});
  QC_ASSIGN(start, resolve_axis(start, x->rank(), m.loc()));
  QC_ASSIGN(end, resolve_axis(end, x->rank(), m.loc()));
  Dims shape;
  for (int64_t i = 0; i < x->rank(); ++i) {
    const Dim& d = x->shape()[static_cast<size_t>(i)];
    if (i > start && i <= end)
      shape.back() = shape.back() * d;
    else
      shape.push_back(d);
  }
  return to_shape(m, x, shape);
}

Result<Values> aten_unflatten(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t dim, m.i("dim", 0));
  QC_ASSIGN(Dims sizes, m.dims("sizes"));
  QC_ASSIGN(dim, resolve_axis(dim, x->rank(), m.loc()));
  Dims shape = x->shape();
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  QC_ASSIGN(shape, resolve_sizes(m, x, std::move(shape)));
  return to_shape(m, x, shape);
}

Result<Values> aten_unsqueeze(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t dim, m.i("dim", 0));
  return unsqueeze(m, x, {dim});
}

Result<Values> aten_squeeze(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!m.given("dim")) return squeeze_all(m, x);
  QC_ASSIGN(Ints axes, m.ints("dim", {}));
  // A rank-0 tensor accepts axis 0 and -1.
  if (x->rank() == 0) std::erase_if(axes, [](int64_t axis) { return axis == 0 || axis == -1; });
  return squeeze(m, x, axes, true);
}

constexpr ImportRow kRows[] = {
    {"", "Reshape", onnx_reshape},
    {"", "Flatten", onnx_flatten},
    {"", "Squeeze", onnx_squeeze},
    {"", "Unsqueeze", onnx_unsqueeze},
    {"aten", "view.default", aten_view, 1, Alias::view},
    {"aten", "_unsafe_view.default", aten_view, 1, Alias::view},
    {"aten", "reshape.default", aten_view, 1, Alias::view},
    {"aten", "view_as.default", aten_view_as, 1, Alias::view},
    {"aten", "reshape_as.default", aten_view_as, 1, Alias::view},
    {"aten", "flatten.using_ints", aten_flatten, 1, Alias::view},
    {"aten", "ravel.default", aten_flatten, 1, Alias::view},
    {"aten", "unflatten.int", aten_unflatten, 1, Alias::view},
    {"aten", "unsqueeze.default", aten_unsqueeze, 1, Alias::view},
    {"aten", "squeeze.default", aten_squeeze, 1, Alias::view},
    {"aten", "squeeze.dim", aten_squeeze, 1, Alias::view},
    {"aten", "squeeze.dims", aten_squeeze, 1, Alias::view},
};

}  // namespace

void register_reshape(Registration& r) {
  r.op<Reshape>();
  r.imports(kRows);
}

}  // namespace qc
