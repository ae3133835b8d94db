// Rules speak of f32 values. With rules that quantize, a model in f16 or bf16 computes in f32: its
// constants are widened, which is exact, and values in between keep the bits that f32 gives them.
//
//   %1 : bf16 = linear(%x, @w)   ->   %2 : f32 = cast(%x)
//   %3 : bf16 = silu(%1)              %3 : f32 = linear(%2, @w as f32)
//                                     %4 : f32 = silu(%3)
//
// Inputs, outputs, states and bodies of control flow keep their types, with casts at them. What
// only moves elements of an input, a state or a constant (a table of embeddings, a cache) stays
// narrow.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> widen_floats(Graph& graph, PassContext& context);

}  // namespace qc
