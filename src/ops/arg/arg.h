#pragma once

#include <span>

#include "frontends/common/foreign.h"
#include "ir/padding.h"

namespace qc {

/// argmax and argmin: position of the extreme element along an axis, as i64. NaN wins; of equal
/// elements the first, or the last with `select_last`.
class ArgExtreme final : public OpNode<ArgExtreme>, public TakesPadding {
 public:
  explicit ArgExtreme(bool largest) : largest_(largest) {}
  int64_t axis = 0;
  bool keepdims = true, select_last = false;

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    v("keepdims", keepdims, true);
    v("select_last", select_last, false);
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  bool largest_;
};

/// The first k elements of every row along an axis in sorted order, and their positions (i64).
/// Stable in both directions; NaN counts as larger than every number.
class Sort final : public OpNode<Sort> {
 public:
  static const OpInfo kInfo;
  int64_t axis = -1;
  Dim k;
  bool descending = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    v("k", k);
    v("descending", descending, false);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Counts of the elements in `bins` equal parts of [low, high], as values of the operand's type.
class Histogram final : public OpNode<Histogram> {
 public:
  static const OpInfo kInfo;
  int64_t bins = 1;
  double low = 0, high = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("bins", bins);
    v("low", low);
    v("high", high);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

std::span<const ImportRow> arg_rows();

}  // namespace qc
