#include "ir/index_formula.h"
#include "ir/padding.h"
#include "ir/relations.h"
#include "ops/common/broadcast.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "quant/lifting.h"

namespace qc {

/// The operands one after the other along `axis`.
class Concat final : public OpNode<Concat>,
                     public HasFormula,
                     public MovesScales,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("axis", axis); }

  Result<Ok> pad(PaddedNode& c) override {
    for (size_t i = 0; i < c.operands().size(); ++i) {
      if (c.is_padded(i, axis))
        return c.refuse("what comes after padding would not follow at once");
    }
    return c.broadcast();
  }
  Result<std::vector<Type>> infer() const override {
    const Type& first = input_type(0);
    if (axis < 0 || axis >= first.rank()) {
      return error(Code::attribute, loc(), "axis {} is out of range for rank {}", axis,
                   first.rank());
    }
    Type y = moved(first, first.shape);
    for (size_t i = 1; i < input_count(); ++i) {
      if (!input(i)) return error(Code::graph, loc(), "operand {} is missing", i);
      const Type& x = input_type(i);
      bool fits = x.dtype == y.dtype && x.rank() == y.rank();
      for (size_t d = 0; fits && d < y.shape.size(); ++d) {
        if (static_cast<int64_t>(d) == axis) continue;
        fits = !differ(x.shape[d], y.shape[d]);
        if (!y.shape[d].is_static()) y.shape[d] = x.shape[d];
      }
      if (!fits) {
        return error(Code::shape, loc(), "cannot join {} and {} along axis {}", str(first), str(x),
                     axis);
      }
      y.shape[static_cast<size_t>(axis)] =
          y.shape[static_cast<size_t>(axis)] + x.shape[static_cast<size_t>(axis)];
    }
    std::vector<const Type*> operands;
    for (size_t i = 0; i < input_count(); ++i) operands.push_back(&input_type(i));
    y.format = common_format(operands);
    return std::vector<Type>{y};
  }
  bool is_identity() const override { return input_count() == 1; }
  std::optional<Dims> contents() const override {
    Dims out;
    for (Value* v : inputs()) {
      auto part = v->rank() == 1 ? known_ints(v) : std::nullopt;
      if (!part || out.size() + part->size() > 256) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  }
  /// Where one formula holds for all parts, as for -1 before 0, 1, 2 and so on.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    const auto a = static_cast<size_t>(axis);
    size_t longest = 0;  // a part of several elements, whose steps are seen
    for (size_t i = 0; i < in.size(); ++i) {
      if (!in[i] || in[i]->terms.size() != in[0]->terms.size()) return std::nullopt;
      if (input_type(longest).shape[a] == Dim(1)) longest = i;
    }
    Dim at = 0;
    std::vector<IndexFormula> parts;  // as formulas of the result
    for (size_t i = 0; i < in.size(); ++i) {
      const Dim& size = input_type(i).shape[a];
      IndexFormula& part = parts.emplace_back(*in[i]);
      for (size_t t = 0; t < part.terms.size(); ++t) {
        Affine& term = part.terms[t];
        if (size == Dim(1)) term.step[a] = in[longest]->terms[t].step[a];
        term.base = term.base - at * Dim(term.step[a]);
      }
      if (part.terms != parts[0].terms) return std::nullopt;
      at = at + size;
    }
    return parts[0];
  }
  Laid laid_over(size_t i, const Format& result) const override {
    const bool found = result.is_dynamic();
    const bool apart = result.granularity != Granularity::group;
    if (found && apart) return {{}, kOtherElements};
    if (result.granularity == Granularity::tensor) return {result, {}};
    if (!found && !apart) return {{}, kKnownForSlice};
    if (result.axis != axis) return {result, {}};
    return found ? whole_groups(result) : part_of_scales(i, result);
  }
  std::unique_ptr<Node> scale_mover(const Format& result) const override {
    return result.granularity == Granularity::group ? clone() : nullptr;
  }
  /// Where operand i goes, given the strides of both sides; `at` is its place along the axis.
  Strided part(const Dims& dims, const Dims& x, const Dims& y, Dim& at) const {
    const size_t a = static_cast<size_t>(axis);
    Strided s{dims, x, y, 0, at * y[a]};
    at = at + dims[a];
    return s;
  }
  Result<Ok> eval(EvalContext& c) const override {
    Dim at = 0;
    for (size_t i = 0; i < c.input_count(); ++i) {
      const Tensor& x = c.in(i);
      move_elements(part(to_dims(x.shape()), strides_of(x), strides_of(c.out(0)), at), x, c.out(0));
    }
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    Dim at = 0;
    for (size_t i = 0; i < input_count(); ++i) {
      const Type& x = l.in_type(i);
      const Strided s = part(x.shape, strides_of(x), strides_of(l.out_type()), at);
      QC_TRY(call_strided(l, s, x.dtype, l.in(i), l.out()));
    }
    return Ok{};
  }

 private:
  /// Operands along whose axis no group is shared.
  Laid whole_groups(const Format& result) const {
    for (size_t i = 0; i + 1 < input_count(); ++i) {
      const Dim& size = input_type(i).shape[static_cast<size_t>(axis)];
      if (!size.is_static() || size.value() % result.group != 0) return {{}, kOtherElements};
    }
    return {result, {}};
  }
  /// The scales of the indices that operand i has along the axis.
  Laid part_of_scales(size_t operand, const Format& result) const {
    int64_t at = 0;
    for (size_t i = 0; i <= operand; ++i) {
      const Dim& size = input_type(i).shape[static_cast<size_t>(axis)];
      if (!size.is_static()) return {{}, kTornApart};
      if (i == operand) return {scales_from(result, at, size.value()), {}};
      at += size.value();
    }
    return {{}, kTornApart};
  }
};

const OpInfo Concat::kInfo = {
    .name = "concat",
    .max_inputs = -1,
    .traits = kMovesElements | kAnyLayout,
    .summary = "the operands one after the other along an axis",
};

namespace {

Result<Values> joined(const Import& m, Values parts, int64_t axis) {
  if (parts.empty()) return m.fail(Code::graph, "joins no tensors");
  for (Value* v : parts) {
    if (!v) return m.fail(Code::graph, "an operand is missing");
  }
  QC_ASSIGN(axis, resolve_axis(axis, parts[0]->rank(), m.loc()));
  if (parts.size() == 1) return parts;
  QC_ASSIGN(Value * y, m.emit("concat", std::move(parts), {{"axis", axis}}));
  return Values{y};
}

Result<Values> onnx_concat(Import& m) {
  // Version 1 had a default axis; later ones require it.
  QC_ASSIGN(int64_t axis, m.i("axis", 1));
  return joined(m, m.node().inputs, axis);
}

/// The operands, cast to their common type.
Result<Values> list(const Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  DType type = DType::boolean;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]) return m.fail(Code::graph, "tensor {} of the list is missing", i);
    type = i == 0 ? parts[i]->dtype() : promote(type, parts[i]->dtype());
  }
  for (Value*& v : parts) {
    QC_ASSIGN(v, m.cast(v, type));
  }
  return parts;
}

Result<Values> aten_cat(Import& m) {
  QC_ASSIGN(Values parts, list(m));
  // PyTorch skips tensors of shape [0] beside tensors of any rank.
  Values nonempty;
  for (Value* v : parts) {
    if (!(v->rank() == 1 && v->shape()[0] == Dim(0))) nonempty.push_back(v);
  }
  if (nonempty.empty() && !parts.empty()) nonempty.push_back(parts[0]);
  QC_ASSIGN(int64_t axis, m.i(m.given("axis") ? "axis" : "dim", 0));
  return joined(m, nonempty, axis);
}

Result<Values> aten_stack(Import& m) {
  QC_ASSIGN(Values parts, list(m));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  for (Value*& v : parts) {
    QC_ASSIGN(int64_t at, resolve_axis(axis, v->rank() + 1, m.loc()));
    Dims shape = v->shape();
    shape.insert(shape.begin() + at, Dim(1));
    QC_ASSIGN(v, reshaped(m, v, shape));
  }
  return joined(m, parts, axis);
}

/// hstack, vstack, dstack, column_stack: all parts first get at least `rank` axes.
Result<Values> stacked(const Import& m, int64_t rank, int64_t axis) {
  QC_ASSIGN(Values parts, list(m));
  for (Value*& v : parts) {
    Dims shape = v->shape();
    while (static_cast<int64_t>(shape.size()) < rank) {
      const bool last = (rank == 3 && shape.size() == 2) || shape.empty();
      shape.insert(last ? shape.end() : shape.begin(), Dim(1));
    }
    QC_ASSIGN(v, reshaped(m, v, shape));
  }
  return joined(m, parts, axis);
}

Result<Values> aten_hstack(Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  return stacked(m, 1, !parts.empty() && parts[0] && parts[0]->rank() > 1 ? 1 : 0);
}

Result<Values> aten_vstack(Import& m) { return stacked(m, 2, 0); }

Result<Values> aten_dstack(Import& m) { return stacked(m, 3, 2); }

Result<Values> aten_column_stack(Import& m) {
  QC_ASSIGN(Values parts, list(m));
  for (Value*& v : parts) {
    if (v->rank() < 2) {
      QC_ASSIGN(v, reshaped(m, v, {product(v->shape()), Dim(1)}));
    }
  }
  return joined(m, parts, 1);
}

constexpr ImportRow kRows[] = {
    {"", "Concat", onnx_concat},
    {"aten", "cat.default", aten_cat},
    {"aten", "concat.default", aten_cat},
    {"aten", "concatenate.default", aten_cat},
    {"aten", "stack.default", aten_stack},
    {"aten", "hstack.default", aten_hstack},
    {"aten", "vstack.default", aten_vstack},
    {"aten", "row_stack.default", aten_vstack},
    {"aten", "dstack.default", aten_dstack},
    {"aten", "column_stack.default", aten_column_stack},
};

}  // namespace

void register_concat(Registration& r) {
  r.op<Concat>();
  r.imports(kRows);
}

}  // namespace qc
