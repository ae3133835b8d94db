// Running a model on samples.
#pragma once

#include <vector>

#include "driver/compile.h"
#include "driver/samples.h"

namespace qc {

/// The outputs of a contract graph for each set of samples: in the interpreter, or with `threads`
/// above 0 as a Program in process, on so many. Those of the runs of a set are joined along axis 0;
/// numbers become a list.
Result<std::vector<std::vector<Tensor>>> run_all(const Graph& graph, const Options& options,
                                                 Samples samples, int threads);

}  // namespace qc
