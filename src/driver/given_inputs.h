// What users say about a model's inputs before it is loaded: shapes, and inputs that are constants.
#pragma once

#include <memory>

#include "frontends/common/options.h"
#include "ir/graph.h"
#include "quantc/options.h"

namespace qc {

/// Turns the options' shapes into numbers for dimensions and their constants into tensors, by the
/// inputs of `model`, which was loaded without them. Numbers and elements must fit the types of the
/// inputs.
Result<Ok> apply_given(const Graph& model, const quantc::Options& options, ImportOptions& import);

/// Where a symbol of the inputs stands, and how large it was: "axis 0 of 'x', such as 3".
std::string location_of(const Graph& graph, const std::string& symbol);

}  // namespace qc
