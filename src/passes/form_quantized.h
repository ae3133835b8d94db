// form_quantized: nodes between dequantize and quantize become nodes that compute on codes.
//
//   %3 = conv(dequantize(%1), dequantize(@w), @b)
//   %4 = quantize(%3) {to = T}             ->   %4 = qconv(%1, @w, @b') {to = T}
//   reshape(dequantize(%1))                ->   dequantize(reshape(%1))
//   quantize(dequantize(%1))               ->   %1 or requantize(%1)
//   quantize(tanh(dequantize(%1)))         ->   lookup(%1, @table)
//
// Ops say what they become (Quantizable); ops with the trait kOnCodes run on codes as they are;
// functions of one value become tables. No rounding of the graph is left out.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> form_quantized(Graph& graph, PassContext& context);

/// Whether the node moves or orders elements, so that it takes codes as they are.
bool runs_on_codes(const Node& node);
/// The operand that an elementwise f32 node with else single constants is a function of.
std::optional<size_t> function_operand(const Node& node);

/// Whether a rule may ask for a quantized form of this node: it has an integer form of its own,
/// runs on codes, is a function of one value or is quantized in float.
bool has_quantized_form(Node& node);

}  // namespace qc
