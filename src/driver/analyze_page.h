// The page of `quantc analyze --html`.
#pragma once

#include <string>
#include <vector>

#include "driver/analyze.h"

namespace qc {

/// One page of HTML that needs nothing else: plots, sizes, times on this machine, a table of the
/// layers and the picture of the graph. `plain`, `quantized` and the options are those the analysis
/// was made of, `inputs` those of one run, which is timed. It is as wide as 1200 pixels.
Result<std::string> analysis_page(const Analysis& analysis, const Graph& plain,
                                  const Graph& quantized, const quantc::Options& options,
                                  const std::vector<Tensor>& inputs, const std::string& title);

}  // namespace qc
