#pragma once

#include <algorithm>

#include "ir/index_formula.h"
#include "ir/padding.h"
#include "ir/slice_views.h"
#include "ops/common/range.h"
#include "ops/common/strided.h"
#include "quant/lifting.h"

namespace qc {

/// Element i along each axis is element start + i*step of the operand.
class Slice final : public ViewNode<Slice>,
                    public HasFormula,
                    public MovesScales,
                    public AliasesOperand,
                    public IsSlice,
                    public TakesPadding {
 public:
  static const OpInfo kInfo;
  Dims start, size, step;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("start", start);
    v("size", size);
    v("step", step);
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    QC_TRY(check_box(x.shape, start, size, step, loc()));
    Type y = moved(x, size);
    if (x.format && !y.format) y.format = slice_format(x);
    return std::vector<Type>{std::move(y)};
  }
  bool is_identity() const override {
    const size_t rank = size.size();
    return size == input_type(0).shape && start == Dims(rank, 0) && step == Dims(rank, 1);
  }
  std::optional<StridedAlias> alias(const Dims& x) const override;
  std::optional<IndexRange> slice() const override;
  Laid laid_over(size_t i, const Format& result) const override;
  std::unique_ptr<Node> scale_mover(const Format& result) const override;
  std::optional<Dims> contents() const override {
    auto x = known_ints(input(0));
    if (!x || start.size() != 1 || !all_static({start[0], size[0], step[0]})) return std::nullopt;
    Dims out;
    for (int64_t i = 0; i < size[0].value(); ++i) {
      const int64_t at = start[0].value() + i * step[0].value();
      if (at < 0 || at >= static_cast<int64_t>(x->size())) return std::nullopt;
      out.push_back((*x)[static_cast<size_t>(at)]);
    }
    return out;
  }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    if (!in[0]) return std::nullopt;
    IndexFormula out = *in[0];
    for (Affine& term : out.terms) {
      for (size_t a = 0; a < size.size(); ++a) {
        if (term.step[a] == 0) continue;
        if (!step[a].is_static()) return std::nullopt;
        term.base = term.base + start[a] * Dim(term.step[a]);
        term.step[a] *= step[a].value();
      }
    }
    return out;
  }
  Strided view(const Dims& x, const Dims& y) const {
    Strided s{size, {}, y};
    for (size_t i = 0; i < x.size(); ++i) {
      s.from.push_back(x[i] * step[i]);
      s.from_offset = s.from_offset + x[i] * start[i];
    }
    return s;
  }

 private:
  /// Scales along an axis of the operand as the result has them, one where all are the same; null
  /// for other formats.
  std::shared_ptr<const Format> slice_format(const Type& x) const;
};

/// Elements of the operand, taken as one row-major list, under any sizes and strides.
class AsStrided final : public ViewNode<AsStrided> {
 public:
  static const OpInfo kInfo;
  Dims size, stride;
  Dim offset;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("size", size);
    v("stride", stride);
    v("offset", offset, Dim(0));
  }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    if (size.size() != stride.size()) {
      return error(Code::attribute, loc(), "{} sizes but {} strides", size.size(), stride.size());
    }
    const Dim total = product(x.shape);
    if (leaves(total, size, stride, offset)) {
      return error(Code::shape, loc(),
                   "sizes {} with strides {} leave the {} elements of the operand", str(size),
                   str(stride), total.str());
    }
    return std::vector<Type>{moved(x, size)};
  }
  Strided view(const Dims&, const Dims& y) const { return {size, stride, y, offset, 0}; }
};

}  // namespace qc
