#pragma once

#include "ir/opening.h"
#include "ir/padding.h"
#include "ir/part_views.h"
#include "ir/rewrite.h"
#include "ops/quantize/ending.h"
#include "program/placed.h"

namespace qc {

/// What a rotation turns, for rotations that leave floats or codes.
struct Turn {
  bool interleaved = false;
  /// Only indices [first, first + count) along `axis` are turned, others stay; -1 turns all.
  int64_t axis = 0, first = 0, count = -1;
  /// f32 rows that turn are normalised first: divided by the root of the mean of their squares.
  bool norm = false;
  double eps = 0;

  void visit(AttrVisitor& v);
  bool turns(int64_t index) const { return count < 0 || (index >= first && index < first + count); }
  /// Checks operands of the node, of which the first stands for `x`.
  Result<Ok> check(const Node& node, const Type& x) const;
  /// Operands from the second on are those of the node; y, of the shape of x, is computed.
  Result<Ok> eval(const EvalContext& c, const Tensor& x, Tensor& y, const Loc& loc) const;
  /// x with the rows normalised that turn; gamma may be null.
  Tensor normalised(const Tensor& x, const Tensor* gamma) const;
  Result<Ok> pad(PaddedNode& c) const;
};

/// Rotary position embedding: pairs of elements along the last axis of x are turned by angles given
/// as cosines and sines for every element. cos and sin broadcast to x. With r(x) the pairs (a, b)
/// as (-b, a): y = x * cos + r(x) * sin, the sum as one fma. Pairs are an element of the first half
/// and its partner of the second, or neighbours when `interleaved`. With `norm` operand 3 may be
/// what normalised rows are multiplied with: a row for all of them, or one for each index of `axis`
/// that turns.
class Rotary final : public OpNode<Rotary>,
                     public TakesPadding,
                     public TakesStrides,
                     public TakesEnding,
                     public TakesOpening,
                     public JoinsParts {
 public:
  static const OpInfo kInfo;
  Turn turn;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { turn.visit(v); }
  Result<Ok> pad(PaddedNode& c) override { return turn.pad(c); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims&) const override { return operand == 0; }
  Result<Node*> with_ending(const Ending& ending, const InsertPoint& place,
                            std::string& reason) override;
  Result<Node*> with_opening(Graph& graph, std::string& reason) override;
  std::string part_key(int64_t axis) const override;
  std::unique_ptr<Node> on_part(const IndexRange& part) const override;
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
  explicit RotaryQuantize(bool dynamic) { ending.dynamic = dynamic; }
  static const OpInfo kStatic, kDynamic;
  Turn turn;

  const OpInfo& info() const override { return ending.dynamic ? kDynamic : kStatic; }
  void attrs(AttrVisitor& v) override {
    turn.visit(v);
    ending.attrs(v);
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
