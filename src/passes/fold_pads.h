// fold_pads, fold_code_pads: fold a border of zeros into the pads of its readers.
//
//   conv(pad(x), w) {pads = [0, 0]}            ->  conv(x, w) {pads = [1, 1]}          fold_pads
//   qconv(pad(x), w) {pads = [0, 0]}           ->  qconv(x, w) {pads = [1, 1]} fold_code_pads
//   qconv(quantize(pad(x)), w) {pads = [0, 0]} ->  qconv(quantize(x), w) {pads = [1, 1]}
//
// The same holds for pools. All readers of the bordered value must take the border (TakesBorder),
// directly or behind conversions that preserve zero (PreservesZero). The bordered copy, often the
// largest value of a small network, is then never in memory.
//
// fold_pads works on floats. It may change the sign of a zero, so it runs before the contract
// graph; it skips values that a rule quantizes, which keep their own rounding. fold_code_pads works
// on readers of codes and is bit-identical.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_pads(Graph& graph, PassContext& context);
Result<bool> fold_code_pads(Graph& graph, PassContext& context);

}  // namespace qc
