// QScheme: the scales, zero points and types a rule gives for one node. Rules make schemes; passes
// turn them into quantize and dequantize nodes; ops build their integer forms from those.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/type.h"
#include "quant/arithmetic.h"

namespace qc {

/// How scales that are not given are found.
enum class WeightScaling : uint8_t {
  symmetric,  // the largest magnitude is qmax, the zero point 0
  edge,       // the largest magnitude is qmin, of the other sign where it is above 0
  inside,     // the smallest scale with which all weights fit, the zero point 0
  spread      // the least weight or 0 is qmin, the greatest or 0 is qmax
};

/// How the constant weights of a node become codes.
struct WeightScheme {
  DType dtype = DType::i8;
  int64_t qmin = -127, qmax = 127;
  WeightScaling scaling = WeightScaling::symmetric;
  Granularity granularity = Granularity::tensor;
  int64_t group = 0;                 // along the axis that is summed over
  std::optional<Tensor> scale;       // given f32 numbers; else from the largest magnitude
  std::optional<Tensor> zero_point;  // given i32 numbers
};

/// What is changed in the float weights of a node before they become codes: f32, one number per
/// channel of the result (of operand 0 for `input_multiplier`).
struct WeightChange {
  std::optional<Tensor> output_multiplier, input_multiplier, bias_correction;

  bool any() const { return output_multiplier || input_multiplier || bias_correction; }
};

/// How an activation gets its scale at run time.
struct DynamicScheme {
  DType dtype = DType::u8;
  bool symmetric = false;  // zero point 0, scale from the largest magnitude
  bool per_token = false;  // one scale per row of the last axis, else one for the tensor
};

struct QScheme {
  enum class Kind : uint8_t {
    keep,         // stays float
    fixed,        // scales known now
    dynamic,      // scales of activations computed at run time; the result is float
    weight_only,  // codes for weights, floats for activations
  };
  Kind kind = Kind::keep;
  QType output;  // kind fixed: format of the result; without one the result is f32
  std::vector<std::optional<QType>>
      inputs;  // of operands that the rule states; else the producer's
  WeightScheme weight;
  WeightChange change;
  DynamicScheme dynamic;
  Arithmetic arithmetic;
  bool attention_on_codes = true;  // attention multiplies codes, else what they stand for
  bool skip_unsupported = false;   // an op without a quantized form stays float
  std::string origin;              // "rules.toml:12", for messages and `explain`
};

/// A per-tensor format with this scale and zero point.
QType tensor_format(DType dtype, float scale, int32_t zero_point);
/// The same with codes limited to [qmin, qmax].
QType tensor_format(DType dtype, float scale, int32_t zero_point, int64_t qmin, int64_t qmax);
/// The same values as unsigned codes of 8 bits: code, zero point and limits are 128 higher. None
/// unless `type` has signed codes of 8 bits with static scales, one or one per index of an axis.
std::optional<QType> unsigned_codes(const QType& type);
/// A limit on codes that become unsigned; one that limits nothing stays.
int64_t unsigned_limit(int64_t code);
/// Smallest and largest code of an integer type.
struct CodeRange {
  int64_t lo, hi;
};
CodeRange code_range(DType dtype);

/// Checks that a value's format fits its type and shape: code range, axis, count of scales, scales
/// finite and above 0, zero points within the codes. A value without a format is an error.
Result<Ok> check_format(const Type& type, const Loc& loc);

}  // namespace qc
