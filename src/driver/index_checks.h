// Indices that a caller gives a model, such as tokens and places in a cache. Ops limit an index
// that is out of range to the nearest element, or drop what it says to write: the answer looks
// plausible.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/indices.h"

namespace qc {

/// What can be said of inputs that reach the indices of an op whole: directly, through views,
/// conversions and sums with constants.
std::vector<IndexCheck> index_checks(const Graph& graph);

/// Adds checks of the indices of which these do not say all, as those that the model computes and
/// those in its state; with `inputs` of all indices. They are one more output, the last one, which
/// is the program's record of them (program/index_record.h). Whether there are any.
Result<bool> add_index_checks(Graph& graph, bool inputs);

/// An error for the first element that is out of range; `sizes` are those of free dimensions.
Result<Ok> check_indices(const std::vector<IndexCheck>& checks, const Graph& graph,
                         const std::vector<Tensor>& inputs, const Bindings& sizes);
/// The same for a graph whose sizes are those of the inputs.
Result<Ok> check_indices(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace qc
