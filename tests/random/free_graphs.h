// Random graphs whose dimensions are free.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "program/program.h"

namespace qc {

/// A graph with one to three free dimensions, whose ranges it states. With `tables`, some values
/// depend on sizes alone.
std::unique_ptr<Graph> random_free_graph(uint64_t seed, bool tables);

/// Inputs of a graph at these sizes.
std::vector<Tensor> inputs_at(const Graph& graph, const Bindings& sizes, uint64_t seed);

/// Whether the shapes of inputs state the size of every free dimension. Generated code that is
/// called with shapes needs that.
bool gives_sizes(const Program& program);

}  // namespace qc
