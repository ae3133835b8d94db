#pragma once

#include "ir/padding.h"
#include "ir/prologue.h"
#include "ir/rewrite.h"
#include "ir/slice_views.h"
#include "ops/quantize/epilogue.h"
#include "program/strided_alias.h"

namespace qc {

/// What a rotation rotates, for rotations that leave floats or codes.
struct RowRotation {
  bool interleaved = false;
  /// Only indices [first, first + count) along `axis` are rotated, others stay; -1 rotates all.
  int64_t axis = 0, first = 0, count = -1;
  /// f32 rows that rotate are normalised first: divided by the root of the mean of their squares.
  bool norm = false;
  double eps = 0;

  void visit(AttrVisitor& v);
  bool rotates(int64_t index) const {
    return count < 0 || (index >= first && index < first + count);
  }
  /// Checks operands of the node, of which the first stands for `x`.
  Result<Ok> check(const Node& node, const Type& x) const;
  /// Operands from the second on are those of the node; y, of the shape of x, is computed.
  Result<Ok> eval(const EvalContext& c, const Tensor& x, Tensor& y, const Loc& loc) const;
  /// x with the rows normalised that rotate; gamma may be null.
  Tensor normalised(const Tensor& x, const Tensor* gamma) const;
  Result<Ok> pad(PaddedNode& c) const;
};

/// Rotary position embedding: pairs of elements along the last axis of x are rotated by angles
/// given as cosines and sines for every element. cos and sin broadcast to x. With r(x) the pairs
/// (a, b) as (-b, a): y = x * cos + r(x) * sin, the sum as one fma. Pairs are an element of the
/// first half and its partner of the second, or neighbours when `interleaved`. With `norm` operand
/// 3 may be what normalised rows are multiplied with: a row for all of them, or one for each index
/// of `axis` that rotates.
class Rotary final : public OpNode<Rotary>,
                     public TakesPadding,
                     public TakesStrides,
                     public TakesQuantizeEpilogue,
                     public TakesPrologue,
                     public JoinsSlices {
 public:
  static const OpInfo kInfo;
  RowRotation rotation;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { rotation.visit(v); }
  Result<Ok> pad(PaddedNode& c) override { return rotation.pad(c); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims&) const override { return operand == 0; }
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;
  Result<Node*> with_prologue(Graph& graph, std::string& reason) override;
  std::string slice_key(int64_t axis) const override;
  std::unique_ptr<Node> on_slice(const IndexRange& slice) const override;
  Result<std::vector<Value*>> joined_operands(Graph& graph, int64_t axis,
                                              const std::vector<Node*>& nodes) const override;
};

/// The same as codes. x may be codes with one scale, or one for each index of `axis`;
/// kernels/rotary/rotary.h.
class RotaryQuantize final : public OpNode<RotaryQuantize>,
                             public TakesPadding,
                             public TakesStrides,
                             public EndsInCodes {
 public:
  explicit RotaryQuantize(bool dynamic) { epilogue.dynamic = dynamic; }
  static const OpInfo kStatic, kDynamic;
  RowRotation rotation;

  const OpInfo& info() const override { return epilogue.dynamic ? kDynamic : kStatic; }
  void attrs(AttrVisitor& v) override {
    rotation.visit(v);
    epilogue.attrs(v);
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims&) const override { return operand == 0; }
};

/// Rotations written out with slices and a concatenation.
std::span<const Rewrite> rotary_spellings();
/// Rotations of transposed values.
std::span<const Rewrite> rotary_rewrites();

}  // namespace qc
