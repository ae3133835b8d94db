// store_unsigned: signed codes of 8 bits inside the graph become unsigned ones, with code, zero
// point and limits 128 higher: for targets whose dot products take unsigned activations.
//
//   %1 : i8 = quantize(%0) {to = i8 q(-128, 127, scale=0.5, zero=3)}
//   %2 : i8 = qlinear(%1, @w) {to = i8 q(-128, 127, scale=0.25), lo = 0}
//   %3 = dequantize(%2)
// becomes
//   %1 : u8 = quantize(%0) {to = u8 q(0, 255, scale=0.5, zero=131)}
//   %2 : u8 = qlinear(%1, @w) {to = u8 q(0, 255, scale=0.25, zero=128), lo = 128}
//   %3 = dequantize(%2)
//
// What codes stand for stays, and so does every bit of every output. Values that one op moves or
// compares, or that must have one format, change together or not at all. They stay where one of
// them is an input, an output, a state or a constant, has scales of groups or one known at run
// time only, or meets a node that is not known to count from the zero point (StoresCodes). Regions
// are graphs of their own; what passes into or out of them stays.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> store_unsigned(Graph& graph, PassContext& context);

}  // namespace qc
