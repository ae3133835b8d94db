// Capabilities: what a node can tell a pass about itself, or let a pass do to it, beyond traits. An
// op class inherits the ones it has beside OpNode; passes find them with `capability<T>(node)` and
// so never name an op.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// The capability T of `node`, or null.
template <class T>
T* capability(Node* node) {
  return node ? dynamic_cast<T*>(node) : nullptr;
}

/// y = x * scale + shift along one axis. Scale and shift are f32 constants of shape [C], C being
/// the size of x along `axis`; null means 1 and 0.
struct ScaleShift {
  Value* x = nullptr;
  int64_t axis = 0;
  Value* scale = nullptr;
  Value* shift = nullptr;
};

/// An op that scales and shifts a value by constants per channel: a batch norm with constant
/// statistics, an addition or a multiplication with a constant.
class IsScaleShift {
 public:
  virtual ~IsScaleShift() = default;
  /// The equivalent scale and shift along `axis` of the result (constants may be recorded in the
  /// pool); nullopt when this node is not one along that axis. `axis` < 0: along the axis it has.
  virtual Result<std::optional<ScaleShift>> scale_shift(Graph& graph, int64_t axis) const = 0;
};

/// An op that is linear in its first operand with constant weights: convolution, linear, matmul.
class AbsorbsScaleShift {
 public:
  virtual ~AbsorbsScaleShift() = default;
  /// The axis of the result whose elements have weights and a bias of their own.
  virtual int64_t output_channel_axis() const = 0;
  /// The axis of operand 0 whose elements have weights of their own.
  virtual int64_t input_channel_axis() const { return output_channel_axis(); }
  /// Changes weights and bias so that the node yields what `result * scale + shift` was. False,
  /// with nothing changed, when it cannot (weights not constant or not float, a clamp already
  /// absorbed).
  virtual Result<bool> absorb_after(Graph& graph, Value* scale, Value* shift) = 0;
  /// Changes weights and bias so that the node yields on x what it did on `x * scale + shift`.
  /// False when it cannot, as for a shift under zero padding.
  virtual Result<bool> absorb_before(Graph&, Value* /*scale*/, Value* /*shift*/) { return false; }
};

/// An op that only limits elements to [lo, hi], NaN staying NaN.
class IsClamp {
 public:
  struct Limits {
    double lo = -kInf, hi = kInf;
  };
  virtual ~IsClamp() = default;
  virtual Limits limits() const = 0;
};

/// An op that can limit its own result before it stores it.
class AbsorbsClamp {
 public:
  virtual ~AbsorbsClamp() = default;
  /// Narrows the limits of the result; false, with nothing changed, when it cannot.
  virtual bool absorb_clamp(IsClamp::Limits limits) = 0;
};

/// An op whose result is operand 0 with axes reordered.
class IsTranspose {
 public:
  virtual ~IsTranspose() = default;
  /// Axis i of the result is axis `permutation()[i]` of operand 0; never negative.
  virtual const Ints& permutation() const = 0;
  /// A node of the same op with another permutation, without operands.
  virtual std::unique_ptr<Node> with_permutation(Ints permutation) const = 0;
};

/// An op that repeats some of its operands as far as it needs them, as ops with kBroadcasts do.
class RepeatsOperands {
 public:
  virtual ~RepeatsOperands() = default;
  virtual bool repeats(size_t operand) const = 0;
};

/// Limits of a clamp to `after` applied to a result already clamped to `before`.
IsClamp::Limits narrow(IsClamp::Limits before, IsClamp::Limits after);

/// `constant` as a value per channel along `axis` of a result of shape `shape` it broadcasts to:
/// a recorded f32 constant of shape [C]. Nullopt when it varies along another axis, is not a
/// constant, or C is not known. `axis` < 0 picks the one axis it varies along and sets it (the last
/// for a single element).
Result<std::optional<Value*>> per_channel(Graph& graph, Value* constant, const Dims& shape,
                                          int64_t& axis);

/// A recorded constant: `weight` with every element multiplied by scale[i], i being its index along
/// `axis`. With `groups` > 1 the axis repeats: i is index + (index along axis 0 / (size / groups))
/// * (size along axis), which is the input channel of a grouped convolution weight.
Value* record_scaled(Graph& graph, Value* weight, int64_t axis, Value* scale, int64_t groups = 1);
/// A recorded constant [C]: bias * scale + shift, a null bias being zeros.
Value* record_bias(Graph& graph, Value* bias, Value* scale, Value* shift);

}  // namespace qc
