#pragma once

#include <span>

#include "frontends/common/foreign.h"

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

/// A recurrent layer over x [steps, batch, inputs] with ONNX's operands w [D, G H, inputs],
/// r [D, G H, H], b [D, 2 G H], lengths [batch] (i32), h0 [D, batch, H] and, for lstm, c0 and
/// peepholes [D, 3 H]. Outputs: y [steps, D, batch, H], last h and, for lstm, last c. Gates are i,
/// o, f, c (lstm), z, r, h (gru). The order of float operations is in kernels/c/rnn/rnn.h.
class Recurrent final : public OpNode<Recurrent> {
 public:
  explicit Recurrent(const Cell* cell) : cell_(cell) {
    activations = join_activations(cell->activations);
  }
  std::string direction = "forward";  // or "reverse", "bidirectional"
  std::string activations;  // names for each direction, joined; once where both have the same
  Floats alphas, betas;     // one per activation, or none at all: the defaults
  double clip = kInf;
  bool linear_before_reset = false;  // gru
  bool input_forget = false;         // lstm

  const OpInfo& info() const override { return cell_->info; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

 private:
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  Result<std::vector<CellFunction>> functions() const;
  const Cell* cell_;
};

std::span<const ImportRow> rnn_onnx_rows();
std::span<const ImportRow> rnn_aten_rows();

}  // namespace qc
