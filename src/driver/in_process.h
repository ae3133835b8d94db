// A contract graph as a Program that runs in process, on several threads.
#pragma once

#include <vector>

#include "driver/compile.h"

namespace qc {

/// The outputs for `inputs`, which give free dimensions their sizes. Large steps are split among
/// `threads` threads; the answer is the interpreter's.
Result<std::vector<Tensor>> run_in_process(const Graph& graph, Options options,
                                           const std::vector<Tensor>& inputs, int threads);

}  // namespace qc
