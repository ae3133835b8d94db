// What ops share that multiply codes and sum: the proof that accumulators fit, how accumulators
// become results, and the operands of the integer form of a float op.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/lowering.h"
#include "quant/quantizable.h"

namespace qc {

/// Scales of the accumulators of a product and how they become results; kernels/qtile/output.h
/// states the formulas.
class AccumulatorOutput {
 public:
  /// Accumulators of codes x and w, one scale of w or one for each of `channels` results (they
  /// repeat, as they do for the groups of a transposed convolution); one scale of the results `to`,
  /// or one for each channel. `lo` and `hi` limit codes further.
  AccumulatorOutput(const Format& x, const Format& w, int64_t channels, const QType& to,
                    const Arithmetic& arithmetic, int64_t lo, int64_t hi);

  /// A bias that is added as floats, one per channel.
  void add_bias(const Tensor& bias);
  /// The result of one sum; `x_scale` counts where the format of x carries its scale.
  void put(Tensor& y, int64_t i, int64_t sum, int64_t channel, float x_scale) const;

  /// The stage of a kernel's epilogue that does the same.
  Stage stage(Lowering& l) const;

 private:
  View multipliers(Lowering& l) const;
  View bias(Lowering& l) const;
  int32_t zero(size_t channel) const { return zeros_.empty() ? zero_ : zeros_[channel]; }

  int32_t type_, zero_ = 0, lo_ = 0, hi_ = 0;
  bool q31_ = false, dynamic_ = false, one_scale_ = false;
  float bias_factor_ = 1.0f;
  std::vector<float> scales_, multipliers_, bias_;
  std::vector<int32_t> zeros_;  // of the results, one per channel; empty: zero_ for all
};

/// The type codes are stored in, as part of a kernel's name: "i8" for i4.
std::string stored_suffix(DType dtype);

/// Weights of up to 8 bits as kernels want them: i8 codes less `shift`, which leaves `zeros` of the
/// zero points (none where all are 0).
struct StoredWeights {
  std::vector<int32_t> shift;  // one or one per channel
  std::vector<int32_t> zeros;
  explicit StoredWeights(const Type& w, int64_t channels);
  int64_t shift_of(int64_t channel) const {
    return shift[shift.size() == 1 ? 0 : static_cast<size_t>(channel) % shift.size()];
  }
  View zero_points(Lowering& l) const;
  /// Operand 1 in the model's order, i16 where it has more than 8 bits.
  View plain(Lowering& l, std::function<int64_t(int64_t)> channel_of) const;
  /// Distinguishes constants made from the same codes with another shift.
  std::string key() const;
};

/// The widest sum of products of codes of `x` and constant weights, `terms` products each, and of a
/// constant bias. `channels` accumulators have weights of their own:
/// `channel_of(i)` is that of element i. Constants that cannot be read prove nothing.
AccumulatorProof prove_accumulators(const Type& x, const Value* weights, const Value* bias,
                                    int64_t terms, int64_t channels,
                                    const std::function<int64_t(int64_t)>& channel_of);
/// The widest sum of `terms` products of any codes of these types.
AccumulatorProof prove_range(const Type& x, const Type& w, int64_t terms);
/// A bias of the accumulators as the type they are formed in.
View accumulator_bias(Lowering& l, size_t operand, DType type);

/// Scales of weights that kernels decode: `each` for every one of `outputs`, those of an output
/// side by side.
View weight_scales(Lowering& l, const Format& f, int64_t outputs, int64_t each);
/// Their zero points likewise; absent where all are the first.
View weight_zeros(Lowering& l, const Format& f, int64_t outputs, int64_t each);

/// Largest magnitude of a code less its zero point.
int64_t largest_difference(const Type& type);
/// Whether a code less its zero point fits 16 bits.
bool fits_16_bits(const Type& type);

/// Checks the types of a product of codes: x with one scale, static or dynamic (per row with
/// `rows`), codes w with static scales, a bias [channels], the result's format: one static scale,
/// or with `each` one for every channel.
Result<Ok> check_accumulators(const Node& node, const QType& to, const Arithmetic& arithmetic,
                              bool rows, int64_t channels, bool each = false);

/// Checks that weights have one scale or one per index of `channel_axis`.
Result<Ok> check_weight_axis(const Node& node, int64_t channel_axis);

/// Checks the types of a product of floats with codes of weights: one scale, one per index of
/// `channel_axis` or, where that is 0, one per group along axis 1. `outputs` have a bias each.
Result<Ok> check_weight_only(const Node& node, const QType& to, int64_t channel_axis,
                             const Dim& outputs);

/// Operands and attributes of the integer form of a float node whose operands are x, constant
/// weights and a bias: x, w, bias, scale and zero point of x.
struct QuantizedProduct {
  std::vector<Value*> inputs;
  AttrMap attrs;
};
/// A float bias as codes of accumulators of codes x and w, rne(b / (sx * sw)): i32 where all codes
/// fit. Null after q.refuse().
Result<Value*> coded_bias(Quantizer& q, const Format& x, const Format& w, const Tensor& bias,
                          std::string name);
/// The form of a product of two operands of codes with one scale each; nullopt after q.refuse().
Result<std::optional<QuantizedProduct>> quantized_product(Quantizer& q);
/// The form of a product with constant weights; nullopt after q.refuse(). The weights have one
/// scale, or one per index of `channel_axis`; `channels` is a number where they are constant; [lo,
/// hi] is the float node's clamp.
Result<std::optional<QuantizedProduct>> weighted_product(Quantizer& q, int64_t channel_axis,
                                                         const Dim& channels, double lo, double hi);
/// Whether constant weights are decoded where they are needed: beside f32 values, and in groups
/// also beside what codes stand for.
bool decodes_weights(const Quantizer& q);
/// The form of a product of floats whose constant weights alone are codes, with other attributes as
/// given: it decodes them where it needs them. Null after q.refuse().
Result<Value*> weight_only_product(Quantizer& q, std::string_view op, Value* weights, AttrMap attrs,
                                   double lo, double hi, int64_t channel_axis = 0);
/// Emits the integer node and, where its result is f32, the clamp.
Result<Value*> emit_product(Quantizer& q, std::string_view op, QuantizedProduct product, double lo,
                            double hi);

}  // namespace qc
