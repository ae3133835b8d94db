// Model files to graphs: picks the front end by what the file contains.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontends/common/options.h"
#include "ir/graph.h"
#include "quantc/options.h"

namespace qc {

/// Loads an ONNX model, a torch.export archive (.pt2), an FX dump (.fx.json) or a graph in quantc's
/// text form (.ir).
Result<std::unique_ptr<Graph>> load_model(const std::string& path,
                                          const ImportOptions& options = {});

/// The same of bytes in memory, which are copied; `name` is for messages and for what is generated.
/// Data outside the file is refused.
Result<std::unique_ptr<Graph>> load_model(std::span<const std::byte> bytes, const std::string& name,
                                          const quantc::Options& options,
                                          std::vector<std::string>* remarks = nullptr);

/// As above, as the options of a compilation say; `remarks` takes what was left out.
Result<std::unique_ptr<Graph>> load_model(const std::string& path, const quantc::Options& options,
                                          std::vector<std::string>* remarks = nullptr);

}  // namespace qc
