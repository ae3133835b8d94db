// Constants as codes.
#pragma once

#include "ir/graph.h"
#include "quant/scheme.h"

namespace qc {

/// The codes of an f32 constant in a format with known scales, computed when they are needed.
Value* quantized_constant(Graph& graph, Value* constant, const QType& type);

/// The format of weights under a scheme. `channel_axis` has one scale per index under
/// Granularity::axis; groups lie along `sum_axis`. Scales that are not given hold the largest
/// magnitude; an all-zero group has scale 1.
Result<QType> weight_format(const Graph& graph, const Value* constant, const WeightScheme& scheme,
                            int64_t channel_axis, int64_t sum_axis, const Loc& loc);

}  // namespace qc
