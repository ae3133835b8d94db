// Model files to graphs: picks the front end by what the file contains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/common/options.h"
#include "ir/graph.h"
#include "quantc/options.h"

namespace qc {

/// Loads an ONNX model, a torch.export archive (.pt2) or a graph in quantc's text form (.ir).
Result<std::unique_ptr<Graph>> load_model(const std::string& path,
                                          const ImportOptions& options = {});

/// As above, as the options of a compilation say; `remarks` takes what was left out.
Result<std::unique_ptr<Graph>> load_model(const std::string& path, const quantc::Options& options,
                                          std::vector<std::string>* remarks = nullptr);

}  // namespace qc
