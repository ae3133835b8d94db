// Graphs of quantized layers that call the bodies written for GPUs: between them and the cases of
// all ops no such body is left out.
#pragma once

#include <functional>
#include <memory>

#include "ir/graph.h"

namespace qc {

/// Calls `use` with each, until it fails.
Result<Ok> for_each_device_graph(const std::function<Result<Ok>(const Graph&)>& use);

}  // namespace qc
