#pragma once

#include <span>

#include "ir/capability.h"
#include "ir/padding.h"
#include "ir/rewrite.h"

namespace qc {

/// y = x * scale[c] + shift[c], c being the index along `axis`: batch norm at inference.
class ScaleShiftNode final : public OpNode<ScaleShiftNode>,
                             public IsScaleShift,
                             public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("axis", axis, int64_t{1}); }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  Result<std::optional<ScaleShift>> scale_shift(Graph& graph, int64_t axis) const override;
};

enum class NormKind { layer, rms, group };

/// Normalises rows: all axes from `axis` on (layer and rms norm), or each of `groups` groups of the
/// channels of [n, c, ...] (group norm; instance norm has one group per channel). Operands: x,
/// scale and shift (either may be omitted), of the normalised shape or one per channel. With
/// `statistics` the mean (not of rms norm) and 1 / deviation of every row are outputs too.
class Norm final : public OpNode<Norm>, public TakesPadding {
 public:
  explicit Norm(NormKind k) : kind(k) {}
  static const OpInfo kLayer, kRms, kGroup;

  NormKind kind;
  int64_t axis = -1;
  int64_t groups = 1;
  double eps = 1e-5;
  bool statistics = false;

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// x over a power of the sum of squares of neighbouring channels; kernels/norm/norm.h.
class LocalResponseNorm final : public OpNode<LocalResponseNorm> {
 public:
  static const OpInfo kInfo;
  int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("size", size);
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// An eps as the one number that all spellings of it come to: for norms computed in f32 the
/// shortest decimal with that f32, so 1e-5 whether the model holds it as double or float.
double written_eps(double eps, DType dtype);

std::span<const Rewrite> norm_rewrites();

}  // namespace qc
