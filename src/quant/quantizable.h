// Quantizable: the capability of an op to build its own quantized form. The pass fold_qdq
// finds an op between dequantize and quantize nodes and asks it; rules and imported quantized
// models meet here, so both give the same nodes.
#pragma once

#include <optional>
#include <string>

#include "ir/capability.h"
#include "quant/quant_node.h"

namespace qc {

/// What surrounds a float node that may become an integer one.
class Quantizer {
 public:
  Quantizer(Graph& graph, Node& node, std::optional<QType> result, Arithmetic arithmetic);

  Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  /// The codes that operand i decodes; null when it is not the result of a dequantize.
  Value* codes(size_t i) const;
  /// Run-time scale and zero point of operand i where its format carries them; else null.
  Value* scale(size_t i) const;
  Value* zero_point(size_t i) const;
  const Format& format(size_t i) const { return *codes(i)->type().format; }
  /// The format the result is quantized to; none when its readers want f32.
  const std::optional<QType>& result() const { return result_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }

  /// Adds a node in place of the float one, with its location.
  Result<Value*> emit(std::string_view op, std::vector<Value*> inputs, AttrMap attrs) const;
  /// The code that `value` has in `type` (per tensor), not rounded out of its range; infinities are
  /// the ends of the range. For clamps.
  static int64_t code_of(double value, const QType& type);

  /// No integer form here, and why; `explain` and --require-integer show it.
  Value* refuse(std::string reason);
  const std::string& reason() const { return reason_; }

 private:
  Graph& graph_;
  Node& node_;
  std::optional<QType> result_;
  Arithmetic arithmetic_;
  std::string reason_;
};

class Quantizable {
 public:
  virtual ~Quantizable() = default;
  /// Takes over what a rule says about this node besides formats, before they are placed; whether
  /// its operands get codes. Rules without static scales are for nodes with weights, unless an op
  /// says otherwise.
  virtual bool take(const QScheme& scheme) {
    return scheme.kind == QScheme::Kind::fixed || weight_operand() >= 0;
  }
  /// Takes over what the arithmetic says about this node as a float one, before `quantized` is
  /// asked; whether that changed it.
  virtual bool prepare(const Quantizer&) { return false; }
  /// Adds the quantized form of this node: codes in the format `q.result()`, or f32 where there is
  /// none. Null after `q.refuse(...)`: the node stays float between dequantize and quantize.
  virtual Result<Value*> quantized(Quantizer& q) const = 0;
  /// The operand that holds constant weights, which a rule's weight scheme is for; -1 for none.
  virtual int weight_operand() const { return -1; }
  /// The axis of the weights with one scale per index under per_channel, and the axis summed over.
  virtual int64_t weight_channel_axis() const { return 0; }
  virtual int64_t weight_sum_axis() const { return 1; }
  /// The operand that holds a bias, which is quantized with the accumulator and never by itself; -1
  /// for none.
  virtual int bias_operand() const { return -1; }
  /// Whether operand i holds weights, for ops with several such operands.
  virtual bool is_weight(size_t i) const { return static_cast<int>(i) == weight_operand(); }
  /// Whether an activation may have one scale for each row of its last axis. Ops that sum over
  /// several rows need one for the tensor.
  virtual bool takes_row_scales() const { return true; }
  /// Operands and results that stay f32 beside codes: a bias, the state of a cell.
  virtual bool is_float_operand(size_t i) const { return static_cast<int>(i) == bias_operand(); }
  virtual bool is_float_result(size_t) const { return false; }
};

/// A dequantize node: what a Quantizer looks through.
class IsDequantize {
 public:
  virtual ~IsDequantize() = default;
};
/// A quantize node with static scales, and the format it gives.
class IsQuantize {
 public:
  virtual ~IsQuantize() = default;
  virtual QType format() const = 0;
  virtual Arithmetic quantize_arithmetic() const = 0;
};

}  // namespace qc
