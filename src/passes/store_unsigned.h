// store_unsigned: stores signed 8-bit codes as unsigned ones for targets whose dot products take
// unsigned activations; codes, zero points and limits grow by 128.
//
//   %1 : i8 = quantize(%0) {to = i8 q(-128, 127, scale=0.5, zero=3)}
//   %2 : i8 = qlinear(%1, @w) {to = i8 q(-128, 127, scale=0.25), lo = 0}
//   %3 = dequantize(%2)
// becomes
//   %1 : u8 = quantize(%0) {to = u8 q(0, 255, scale=0.5, zero=131)}
//   %2 : u8 = qlinear(%1, @w) {to = u8 q(0, 255, scale=0.25, zero=128), lo = 128}
//   %3 = dequantize(%2)
//
// The values of codes stay, and outputs stay bit-identical. Values that one op moves or compares,
// or that must have one format, change together. A group stays signed if one of its values
// - is an input, an output, a state or a constant,
// - has group scales or dynamic scales,
// - has a reader or writer without StoresCodes, or
// - enters or leaves a region.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> store_unsigned(Graph& graph, PassContext& context);

}  // namespace qc
