// Contents of values while importing.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// The contents of a constant, or of the decoding of one.
std::optional<Tensor> known_tensor(const Graph& graph, const Value* value);

}  // namespace qc
