// Constants as codes.
#pragma once

#include "ir/graph.h"
#include "quant/scheme.h"

namespace qc {

/// The codes of an f32 constant in a format with static scales, computed when they are needed.
Value* quantized_constant(Graph& graph, Value* constant, const QType& type,
                          const Arithmetic& arithmetic = {});

/// What constant codes with static scales stand for, as an f32 constant.
Value* decoded_constant(Graph& graph, Value* codes);

/// A format for a constant operand of a quantized op: codes of the type and range of `like` with
/// one scale that holds all elements; of signed codes the zero point is 0.
Result<QType> constant_format(const Graph& graph, const Value* constant, const QType& like,
                              const Loc& loc);

/// An error that names the first of the f32 elements that is NaN or infinite; `what` is what they
/// are.
Result<Ok> check_finite(const Tensor& x, std::string_view what, const Loc& loc);

/// The format of weights under a scheme. `channel_axis` has one scale per index under
/// Granularity::axis; groups lie along `sum_axis`. Scales that are not given are found as
/// the scheme's fit says; an all-zero group has scale 1. Weights that are not finite are an error.
Result<QType> weight_format(const Graph& graph, const Value* constant, const WeightScheme& scheme,
                            int64_t channel_axis, int64_t sum_axis, const Loc& loc);

/// Whether results times positive numbers are limited alike: not at all, or to 0 and above.
bool limits_scale(const Node& node);

/// Changes the constant weights and the bias of a node; an error where their sizes do not fit or
/// the node limits its result to what multipliers would move.
Result<Ok> change_weights(Graph& graph, Node& node, const WeightChange& change);

}  // namespace qc
