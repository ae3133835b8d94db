#pragma once

#include "ir/node.h"
#include "ir/padding.h"
#include "ir/rewrite.h"

namespace qc {

/// Rotary position embedding: pairs of elements along the last axis of x are turned by angles given
/// as cosines and sines for every element. cos and sin broadcast to x. With r(x) the pairs (a, b)
/// as (-b, a): y = x * cos + r(x) * sin, the sum as one fma. Pairs are an element of the first half
/// and its partner of the second, or neighbours when `interleaved`.
class Rotary final : public OpNode<Rotary>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  bool interleaved = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("interleaved", interleaved, false); }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Rotations written out with slices and a concatenation.
std::span<const Rewrite> rotary_rewrites();

}  // namespace qc
