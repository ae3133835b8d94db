#pragma once

#include <span>

#include "ir/capability.h"
#include "ir/padding.h"
#include "ir/rewrite.h"
#include "ops/quantize/epilogue.h"
#include "program/strided_alias.h"
#include "quant/normalised.h"
#include "quant/quantizable.h"

namespace qc {

/// y = x * scale[c] + shift[c], c being the index along `axis`: batch norm at inference. On codes
/// it is a depthwise convolution with one tap.
class ScaleShiftNode final : public OpNode<ScaleShiftNode>,
                             public IsScaleShift,
                             public Quantizable,
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
  Result<Value*> quantized(Quantizer& q) const override;
  bool is_float_operand(size_t i) const override { return i > 0; }
};

enum class NormKind { layer, rms, group };

/// Which rows are normalised: all axes from `axis` on (layer and rms norm), or each of `groups`
/// groups of the channels of [n, c, ...] (group norm; instance norm has one group per channel).
struct NormRows {
  explicit NormRows(NormKind k) : kind(k) {}
  NormKind kind;
  int64_t axis = -1;
  int64_t groups = 1;
  double eps = 1e-5;

  void attrs(AttrVisitor& v);
  /// Checks the operands of `node`: what stands for x, of type `x`, scale and shift; gives the
  /// shape with one element per row.
  Result<Dims> infer(const Node& node, const Type& x) const;
  /// The number of rows, elements of a row, and where in a row a channel lies.
  struct Sizes {
    Dim rows = 1, n = 1, groups = 1, inner = 1;
  };
  Sizes sizes(const Dims& x) const;
  /// Whether kernels take operand 0 of `node` with these strides: rows are those of the last axis.
  bool take_strides(const Node& node, size_t operand, const Dims& strides) const;
  /// Fills a call of a kernel with what these rows say.
  template <class Call>
  void fill(Call& c, const Sizes& p) const {
    c.rows = p.rows;
    c.n = p.n;
    c.groups = p.groups;
    c.inner = p.inner;
    c.center = kind == NormKind::rms ? 0 : 1;
    c.eps = static_cast<float>(eps);
  }
  /// The same for where rows of operand 0 of `node` lie.
  template <class Call>
  Result<Ok> set_row_strides(Call& c, const Node& node, const Lowering& l) const {
    if (!strided_alias(node.input(0))) return Ok{};
    const RowBlocks blocks = *row_blocks(node.input_type(0).shape, strides_in(node, 0));
    QC_ASSIGN(c.x_rows, l.param(blocks.rows));
    QC_ASSIGN(c.x_block, l.param(blocks.stride));
    return Ok{};
  }
  /// y, and where they are asked for the mean and 1 / deviation of every row.
  Result<Ok> eval(const Tensor& x, const Tensor* scale, const Tensor* shift, Tensor& y,
                  Tensor* mean, Tensor* rstd, const Loc& loc) const;
};

/// Operands: x, scale and shift (either may be omitted), of the normalised shape or one per
/// channel. With `statistics` the mean (not of rms norm) and 1 / deviation of every row are outputs
/// too.
class Norm final : public OpNode<Norm>,
                   public TakesPadding,
                   public TakesStrides,
                   public TakesQuantizeEpilogue,
                   public NormalisesRows {
 public:
  explicit Norm(NormKind kind) : rows(kind) {}
  static const OpInfo kLayer, kRms, kGroup;

  NormRows rows;
  bool statistics = false;

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims& strides) const override {
    return rows.take_strides(*this, operand, strides);
  }
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;
  std::optional<int64_t> normalised_axis() const override {
    return rows.kind == NormKind::group ? std::nullopt : std::optional(rows.axis);
  }
};

/// A norm whose result is codes; kernels/norm/norm.h. Operands: those of the norm, x being floats
/// or codes with one static scale, then a residual that is added to floats x first. With `sums` the
/// last output is that sum.
class NormQuantize final : public OpNode<NormQuantize>,
                           public TakesPadding,
                           public TakesStrides,
                           public EndsInCodes {
 public:
  NormQuantize(NormKind kind, bool dynamic) : rows(kind) { epilogue.dynamic = dynamic; }

  NormRows rows;
  bool sums = false;

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims& strides) const override {
    return rows.take_strides(*this, operand, strides);
  }
};
/// Registry entries of NormQuantize, by kind and whether scales are found at run time.
const OpInfo& norm_quantize_info(NormKind kind, bool dynamic);

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
