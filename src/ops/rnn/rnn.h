#pragma once

#include <span>

#include "frontends/common/foreign.h"
#include "quant/quantizable.h"

namespace qc {

enum class CellKind : uint8_t { rnn, gru, lstm };

/// What the cells differ by.
struct Cell {
  CellKind kind;
  int64_t gates;
  std::span<const std::string_view> activations;  // of one direction, by default
  OpInfo info;
};

/// Activation functions of cells, in the order of the kernels' codes.
struct CellActivation {
  std::string_view name;  // as in the text form
  std::string_view onnx;
  bool has_alpha, has_beta;
  double alpha, beta;  // where the model gives none
  float (*apply)(float x, float alpha, float beta);
};
std::span<const CellActivation> cell_activations();

/// The activations of a cell as one text, "sigmoid, tanh".
std::string join_activations(std::span<const std::string_view> names);

/// An activation with its parameters.
struct CellFunction {
  int32_t code;
  float (*apply)(float x, float alpha, float beta);
  float alpha, beta;

  float operator()(float x) const { return apply(x, alpha, beta); }
};

/// The activations of all directions, `each` per direction; a list for one holds for both.
Result<std::vector<CellFunction>> resolve_activations(std::string_view text, const Floats& alphas,
                                                      const Floats& betas, size_t each,
                                                      size_t sides, const Loc& loc);

/// Operands of recurrent layers.
enum CellOperand : size_t { kX, kW, kR, kBias, kLengths, kH0, kC0, kPeepholes };

/// What recurrent layers say about their cells.
struct CellAttrs {
  std::string direction = "forward";  // or "reverse", "bidirectional"
  std::string activations;  // names for each direction, joined; once where both have the same
  Floats alphas, betas;     // one per activation, or none at all: the defaults
  double clip = kInf;
  bool linear_before_reset = false;  // gru
  bool input_forget = false;         // lstm

  explicit CellAttrs(const Cell& cell) : activations(join_activations(cell.activations)) {}
  void visit(AttrVisitor& v, const Cell& cell);
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  Result<std::vector<CellFunction>> functions(const Cell& cell, const Loc& loc) const;
  /// Checks attributes, the shapes of a node's operands and the types of those that are not
  /// `codes`; the shape of y, then of the states.
  Result<std::vector<Dims>> check(const Node& node, const Cell& cell,
                                  std::initializer_list<size_t> codes = {}) const;
};

/// A recurrent layer over x [steps, batch, inputs] with ONNX's operands w [D, G H, inputs],
/// r [D, G H, H], b [D, 2 G H], lengths [batch] (i32), h0 [D, batch, H] and, for lstm, c0 and
/// peepholes [D, 3 H]. Outputs: y [steps, D, batch, H], last h and, for lstm, last c. Gates are i,
/// o, f, c (lstm), z, r, h (gru). The order of float operations is in kernels/rnn/rnn.h.
class Recurrent final : public OpNode<Recurrent>, public CellAttrs, public Quantizable {
 public:
  explicit Recurrent(const Cell* cell) : CellAttrs(*cell), cell_(cell) {}

  const OpInfo& info() const override { return cell_->info; }
  void attrs(AttrVisitor& v) override { visit(v, *cell_); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  /// qrnn, qgru, qlstm: x, h and the weights as codes, the state c in f32.
  Result<Value*> quantized(Quantizer& q) const override;
  int weight_operand() const override { return kW; }
  bool is_weight(size_t i) const override { return i == kW || i == kR; }
  int64_t weight_channel_axis() const override { return 1; }
  int64_t weight_sum_axis() const override { return 2; }
  int bias_operand() const override { return kBias; }
  bool is_float_operand(size_t i) const override {
    return i == kBias || i == kC0 || i == kPeepholes;
  }
  bool is_float_result(size_t i) const override { return i == 2; }

 private:
  const Cell* cell_;
};

/// The same on codes: x, weights (a scale for each row, zero points 0), h0, y and the state h,
/// which has the format of y. kernels/qrnn/qrnn.h states the arithmetic.
class QRecurrent final : public QuantNodeBase<QRecurrent>, public CellAttrs {
 public:
  QRecurrent(const Cell* cell, const OpInfo* info) : CellAttrs(*cell), cell_(cell), info_(info) {}

  const OpInfo& info() const override { return *info_; }
  void attrs(AttrVisitor& v) override {
    QuantNodeBase::attrs(v);
    visit(v, *cell_);
  }
  Result<std::vector<Type>> infer() const override;
  AccumulatorProof accumulator() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  bool counts_from_zero() const override { return true; }
  bool has_result_format(size_t operand) const override { return operand == kH0; }

 private:
  const Cell* cell_;
  const OpInfo* info_;
};

/// The cells, plain and with the names of their quantized forms.
std::span<const Cell> cells();
const OpInfo& quantized_cell_info(CellKind kind);
/// Multiply-accumulates of a layer.
int64_t cell_macs(const Node& node, const Cell& cell, int64_t directions);

std::span<const ImportRow> rnn_onnx_rows();
std::span<const ImportRow> rnn_aten_rows();

}  // namespace qc
