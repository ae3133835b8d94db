// Codes of ONNX models. Where scales and zero points are constants, codes become values with a
// format between quantize and dequantize nodes, which later passes turn into integer nodes; where
// they are computed at run time, the same arithmetic is written out.
#pragma once

#include <optional>

#include "ops/common/compose.h"
#include "quant/scheme.h"

namespace qc::onnx_codes {

/// How a model describes codes: values of scale and zero point (null: 0), and along which axis and
/// in blocks of how many indices they vary (0: one per index).
struct Coding {
  Value* scale = nullptr;
  Value* zero = nullptr;
  int64_t axis = 1, block = 0;
};

/// The arithmetic of nodes whose integer form ONNX Runtime chooses (QDQ) or the model itself.
inline constexpr std::string_view kPairs = "onnxruntime";
inline constexpr std::string_view kOperators = "onnxruntime,signed=kept";

/// The format that a coding gives codes of this type and shape; none when it is not known now or
/// not usable.
std::optional<QType> known_format(const Graph& graph, DType dtype, const Dims& shape,
                                  const Coding& coding);
/// The same with these scales and zero points, one or one per index of `axis`.
std::optional<QType> known_format(DType dtype, const Dims& shape, int64_t axis,
                                  const std::vector<float>& scales,
                                  const std::vector<int32_t>& zeros);

/// Integers of a model as codes of a format.
Value* as_codes(Compose& c, Value* x, const QType& type);

/// Whether `decode` gives a dequantize node: scales known now, or those that quantize_dynamic gave.
bool has_format(const Graph& graph, const Value* x, const Coding& coding);
/// The f32 values that codes stand for.
Value* decode(Compose& c, Value* x, const Coding& coding);
/// The codes, as plain integers of type `to`, of f32 values.
Value* encode(Compose& c, Value* v, const Coding& coding, DType to, std::string_view arithmetic);

/// Codes minus their zero point as i32.
Value* centred(Compose& c, Value* x, Value* zero);
/// round(v) + zero point, limited to the codes of `to`.
Value* to_codes(Compose& c, Value* v, Value* zero, DType to);
/// A scale or zero point arranged to broadcast against x.
Value* spread(Compose& c, Value* v, const Value* x, int64_t axis, int64_t block);

}  // namespace qc::onnx_codes
