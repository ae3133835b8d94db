// Ops that change what codes mean.
#pragma once

#include "ir/border.h"
#include "ir/capability.h"
#include "ir/padding.h"
#include "ir/writes_layout.h"
#include "program/strided_alias.h"
#include "quant/lifting.h"
#include "quant/quantizable.h"
#include "quant/quantize_epilogue.h"

namespace qc {

/// Whether 0 becomes the zero point: one scale, known now, whose codes include it.
inline bool has_zero(const QType& to) {
  const Format* f = to.format.get();
  return f && f->granularity == Granularity::tensor && !f->is_dynamic() &&
         f->zero_at() >= f->qmin && f->zero_at() <= f->qmax;
}

/// f32 to codes of the format `to`. With `layout` the codes lie in that layout, "nhwc" or
/// "row_major", whatever the operand's is.
class Quantize final : public QuantOp<Quantize>,
                       public IsQuantize,
                       public MakesCodes,
                       public IsQuantizeEpilogue,
                       public StoresCodes,
                       public WritesLayout,
                       public PreservesZero,
                       public TakesPadding {
 public:
  static const OpInfo kInfo;
  QType to;
  std::string layout;
  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override { return c.broadcast(); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool preserves_zero() const override { return has_zero(to); }
  QType format() const override { return to; }
  Arithmetic quantize_arithmetic() const override { return parsed_arithmetic(); }
  std::string parameters() const override;
  std::unique_ptr<Node> with_scales(const Format& format) const override;
  std::optional<QuantizeEpilogue> epilogue() const override;
  bool counts_from_zero() const override { return true; }
  Result<Ok> store_unsigned(Graph&, bool operand, bool results) override;
  bool can_write_layout() const override;
  void write_layout(Layout to_layout) override;

 private:
  QuantizeEpilogue as_epilogue() const;
};

/// Codes to f32; the operand's format says how. Operands: codes and, where the format carries them,
/// their scales and zero points. `layout` as above.
class Dequantize final : public QuantOp<Dequantize>,
                         public IsDequantize,
                         public StoresCodes,
                         public WritesLayout,
                         public TakesPadding {
 public:
  static const OpInfo kInfo;
  std::string layout;
  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override { return c.broadcast(); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool counts_from_zero() const override { return true; }
  Result<Ok> store_unsigned(Graph&, bool, bool) override { return Ok{}; }
  bool can_write_layout() const override;
  void write_layout(Layout to_layout) override;
};

/// Codes of one format to codes of another: quantize(dequantize(x)), with both roundings.
class Requantize final : public QuantOp<Requantize>, public StoresCodes, public PreservesZero {
 public:
  static const OpInfo kInfo;
  QType to;
  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  bool is_identity() const override { return input_type(0).quant() == to; }
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool preserves_zero() const override { return has_zero(to); }
  bool counts_from_zero() const override { return true; }
  Result<Ok> store_unsigned(Graph&, bool operand, bool results) override;
};

/// f32 to codes whose scale and zero point are computed from the elements: results are codes,
/// scales (f32) and zero points (i32), one for the tensor or one per row of the last axis.
class QuantizeDynamic final : public QuantOp<QuantizeDynamic>,
                              public MakesCodes,
                              public IsQuantizeEpilogue,
                              public TakesPadding,
                              public TakesStrides {
 public:
  static const OpInfo kInfo;
  DType to = DType::u8;
  bool symmetric = false, per_token = false;
  const OpInfo& info() const override { return kInfo; }
  std::string parameters() const override;
  std::unique_ptr<Node> with_scales(const Format&) const override { return clone(); }
  std::optional<QuantizeEpilogue> epilogue() const override;
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t, const Dims& strides) const override {
    return row_blocks(input_type(0).shape, strides).has_value();
  }
};

/// Plain integers seen as codes of a format, or with `to` a plain type codes seen as integers.
class WithFormat final : public QuantOp<WithFormat>, public AliasesOperand {
 public:
  static const OpInfo kInfo;
  QType to;
  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("to", to); }
  Result<std::vector<Type>> infer() const override;
  bool is_identity() const override { return input_type(0).quant() == to; }
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  std::optional<StridedAlias> alias(const Dims& x) const override { return StridedAlias{x, 0}; }
};

/// Codes of 8 bits through a table of 256 codes: every function of one value. Operands: codes, and
/// a constant table indexed by the code's byte.
class Lookup final : public QuantNodeBase<Lookup>, public TakesPadding, public TakesStrides {
 public:
  static const OpInfo kInfo;
  const OpInfo& info() const override { return kInfo; }
  Result<Ok> pad(PaddedNode& c) override { return c.broadcast(); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims& strides) const override {
    return operand == 0 && input_type(0).rank() > 1 && are_rows_apart(input_type(0).shape, strides);
  }
  /// The table can be made anew where it is known.
  bool counts_from_zero() const override { return input(1)->is_constant(); }
  Result<Ok> store_unsigned(Graph& graph, bool operand, bool results) override;
};

}  // namespace qc
