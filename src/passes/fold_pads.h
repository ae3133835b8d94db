// fold_pads, fold_code_pads: a border of zeros goes into the pads of what reads it.
//
//   conv(pad(x), w) {pads = [0, 0]}            ->  conv(x, w) {pads = [1, 1]}          fold_pads
//   qconv(pad(x), w) {pads = [0, 0]}           ->  qconv(x, w) {pads = [1, 1]} fold_code_pads
//   qconv(quantize(pad(x)), w) {pads = [0, 0]} ->  qconv(quantize(x), w) {pads = [1, 1]}
//
// and alike for pools, where every reader of the bordered value can take the border (TakesBorder),
// directly or behind conversions that keep zero (PreservesZero). The bordered copy of the operand,
// often the largest value of a small network, is then never in memory.
//
// fold_pads works on floats, of which the sign of a zero may change, and so makes the contract
// graph; a value that a rule quantizes keeps its own rounding and its border. fold_code_pads works
// where the readers have codes, and keeps every bit.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_pads(Graph& graph, PassContext& context);
Result<bool> fold_code_pads(Graph& graph, PassContext& context);

}  // namespace qc
