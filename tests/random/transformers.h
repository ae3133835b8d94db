// Random graphs like transformers: norms whose results many read, through views, splits and
// concats, as codes of every granularity, and products of those codes with several weights.
#pragma once

#include "tests/random/sampling.h"

namespace qc {

std::unique_ptr<Graph> random_transformer(uint64_t seed);

}  // namespace qc
