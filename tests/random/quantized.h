// Random quantized graphs: float graphs with quantize and dequantize nodes around most ops, in
// formats that suit their values.
#pragma once

#include "tests/random/sampling.h"

namespace qc {

/// A graph of about `nodes` ops of those that have quantized forms, before its forms are made.
std::unique_ptr<Graph> random_quantized_graph(uint64_t seed, int nodes);

/// One sum, product or mean of many elements whose scales make near ties.
std::unique_ptr<Graph> near_tie_graph(uint64_t seed);

/// Linear layers one after another with clamps and residuals, all in one type of 8 bits.
std::unique_ptr<Graph> linear_layers_graph(uint64_t seed);

}  // namespace qc
