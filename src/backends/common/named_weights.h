// Literal weights that a person can read: a struct with an array for each constant, in the order
// and at the places that the blob of bytes has them, so that both are the same bytes.
#pragma once

#include <functional>
#include <string>

#include "backends/common/weights.h"

namespace qc {

/// Names the constants of a module in `map` if its weights are literals of at most 1 MiB without a
/// NaN. Compilers take a second for each million of numbers.
Result<Ok> name_weights(const Module& module, const ProjectOptions& options, WeightMap& map);

/// The type of the struct and its declaration; each array says which constant of the model it is.
std::string named_weights_declaration(const ConstantPool& pool, const WeightMap& map,
                                      const std::string& name);

/// Writes its definition; `see` is shown the constants in order.
Result<Ok> write_named_weights(const ConstantPool& pool, const WeightMap& map,
                               const std::string& name, FileSet& files,
                               const std::function<void(ConstId, const Tensor&)>& see);

}  // namespace qc
