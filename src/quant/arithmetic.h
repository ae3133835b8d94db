// Arithmetic: how the roundings of a quantized node are done. It belongs to
// the contract graph, never to a target: the same arithmetic gives the same bits everywhere.
// docs/arithmetic.md states every formula.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dot.h"
#include "support/result.h"

namespace qc {

class Graph;

struct Arithmetic {
  /// x / s, or x * f32(1 / s).
  enum class Quantize : uint8_t { divide, reciprocal };
  /// Rescaling of accumulators: a float multiplier, or integers only (a multiplier of 31 bits).
  enum class Rescale : uint8_t { f32, q31 };
  /// Sums, products and mean pools: on integers, the zero point added after rounding; as ONNX
  /// Runtime's kernels do it, the zero point added as a float before; or decoded, computed in f32
  /// and encoded.
  enum class Combine : uint8_t { exact, onnxruntime, f32 };
  /// Softmax in the contract's float, or ONNX Runtime's table of exponentials.
  enum class Softmax : uint8_t { f32, onnxruntime };
  /// A float bias becomes i32 codes of the accumulator, or is added as a float.
  enum class Bias : uint8_t { i32, f32 };
  /// Signed codes of 8 bits between a quantize and its dequantize nodes: kept, or shifted to
  /// unsigned ones, as ONNX Runtime does before it forms integer nodes. f32: shifted, and
  /// convolutions for which it then forms none stay float, summed in its order.
  enum class Signed : uint8_t { kept, shifted, f32 };

  Quantize quantize = Quantize::divide;
  Rescale rescale = Rescale::f32;
  Combine combine = Combine::exact;
  Softmax softmax = Softmax::f32;
  Bias bias = Bias::i32;
  Signed signed_codes = Signed::kept;

  bool operator==(const Arithmetic&) const = default;
};

/// A preset ("exact", "onnxruntime", "torch") and overrides: "exact,rescale=q31". Unknown words are
/// errors that list what is allowed.
Result<Arithmetic> parse_arithmetic(std::string_view text);
/// The shortest text that parses to this arithmetic.
std::string str(const Arithmetic& arithmetic);
std::vector<std::string_view> arithmetic_presets();

/// What a user says about a whole model: the arithmetic of its quantized nodes, and `dot=VALUE`
/// among its fields, how float dot products are summed. Each may be left open.
struct ModelArithmetic {
  std::string quantized;  // empty: as the model says
  std::optional<DotStep> dot;
};
Result<ModelArithmetic> parse_model_arithmetic(std::string_view text);

/// Gives every node of the graph that has an arithmetic the one of the text, and the graph its
/// `dot`. What a model of ONNX operators says about signed codes stays where both are ONNX
/// Runtime's.
Result<Ok> set_arithmetic(Graph& graph, std::string_view text);

}  // namespace qc
