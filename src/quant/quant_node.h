// The hierarchy of quantized nodes. What the codes of a value mean is in the value's type, so no
// code asks which class made it; the classes share what their nodes have in common.
//
//   QuantOp              quantize, dequantize, requantize, ...: change what codes mean
//   QuantNodeBase        compute on codes: tables, pools, add, mul, matmul
//     WeightedQuantNode    an operand and constant weights: conv, linear
//
// Passes and reports ask them as QuantNode, whatever their class is.
#pragma once

#include "ir/node.h"
#include "quant/arithmetic.h"
#include "quant/scheme.h"

namespace qc {

/// A node that lets codes of 8 bits be stored as signed or as unsigned ones: what it computes
/// depends on how far codes are from their zero point. Storing a value as unsigned codes makes its
/// code, zero point and limits 128 higher. Ops that only move or compare codes need no such class.
class StoresCodes {
 public:
  virtual ~StoresCodes() = default;
  /// False where this node counts with codes as they are, as some of ONNX Runtime's formulas do.
  virtual bool counts_from_zero() const = 0;
  /// Whether operand i must have the format of the results.
  virtual bool has_result_format(size_t /*operand*/) const { return false; }
  /// Changes what the node itself holds, where operand 0 or the results become unsigned. The caller
  /// infers types anew.
  virtual Result<Ok> store_unsigned(Graph& graph, bool operand, bool results) = 0;
};

/// What reports see of every QuantOp.
class ChangesCodes {
 public:
  virtual ~ChangesCodes() = default;
};

/// A node that changes what codes mean.
template <class Derived>
class QuantOp : public OpNode<Derived>, public ChangesCodes {
 public:
  std::string arithmetic = "exact";

  /// `arithmetic` as a value; infer() has checked that the text is one.
  Arithmetic parsed_arithmetic() const { return parse_arithmetic(arithmetic).value(); }
};

/// The widest sum an integer node can form, with what proves it.
struct AccumulatorProof {
  int64_t terms = 0;        // products summed
  int64_t weight_sum = 0;   // largest sum of |w - zero point| over an output, 0 when not known
  int64_t bound = 0;        // no partial sum, bias included, is beyond +-bound; saturates
  DType type = DType::i32;  // i32 where bound < 2^31, else i64
};

/// What passes and reports may ask any node that computes on codes.
class QuantNode {
 public:
  virtual ~QuantNode() = default;
  /// The node this is part of.
  virtual const Node& node() const = 0;
  /// Format of operand i and of the result; null for plain values.
  const Format* in_q(size_t i) const { return node().input_type(i).format.get(); }
  const Format* out_q() const { return node().output()->type().format.get(); }
  /// The type accumulators are formed in.
  virtual AccumulatorProof accumulator() const { return {}; }
};

/// Base of quantized op classes: the result's format and the arithmetic, as attributes. An op that
/// counts from zero points says so.
template <class Derived>
class QuantNodeBase : public OpNode<Derived>, public QuantNode, public StoresCodes {
 public:
  QType to;  // of the result; without a format the result is f32, or of products the accumulators
             // as i32
  std::string arithmetic = "exact";

  const Node& node() const override { return *this; }
  Arithmetic parsed_arithmetic() const { return parse_arithmetic(arithmetic).value(); }
  void attrs(AttrVisitor& v) override {
    v("to", to);
    v("arithmetic", arithmetic, std::string("exact"));
  }
  bool counts_from_zero() const override { return false; }
  Result<Ok> store_unsigned(Graph&, bool, bool results) override {
    if (results) to = unsigned_codes(to).value();
    return Ok{};
  }

 protected:
  /// Checks the operands at `codes` and the result's format; ops call it first in infer(). With
  /// `accumulators` the result may be plain i32.
  Result<Ok> check_quantized(std::initializer_list<size_t> codes, bool accumulators = false) const {
    for (size_t i : codes) QC_TRY(check_format(this->input_type(i), this->loc()));
    if (auto parsed = parse_arithmetic(arithmetic); !parsed.ok()) {
      return error(Code::attribute, this->loc(), "{}", parsed.diag().text);
    }
    if (!to.format && to.dtype != DType::f32 && !(accumulators && to.dtype == DType::i32)) {
      return error(Code::attribute, this->loc(), "a result of {} without a format", name(to.dtype));
    }
    return Ok{};
  }
  /// The result's type, checked.
  Result<std::vector<Type>> result(Dims shape, Layout layout) const {
    Type y(to, std::move(shape));
    y.layout = layout;
    if (to.format) QC_TRY(check_format(y, this->loc()));
    return std::vector<Type>{std::move(y)};
  }
};

/// Codes x, constant codes w and an optional bias of the accumulator's codes.
template <class Derived>
class WeightedQuantNode : public QuantNodeBase<Derived> {
 public:
  // Codes the result is limited to, where that is less than its format: a clamp of the model.
  int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();

  void attrs(AttrVisitor& v) override {
    QuantNodeBase<Derived>::attrs(v);
    v("lo", lo, std::numeric_limits<int64_t>::min());
    v("hi", hi, std::numeric_limits<int64_t>::max());
  }
  bool counts_from_zero() const override { return true; }
  Result<Ok> store_unsigned(Graph& graph, bool operand, bool results) override {
    if (results) {
      lo = unsigned_limit(lo);
      hi = unsigned_limit(hi);
    }
    return QuantNodeBase<Derived>::store_unsigned(graph, operand, results);
  }
};

}  // namespace qc
