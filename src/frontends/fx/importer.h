// FX dumps as graphs.
#pragma once

#include <memory>
#include <string>

#include "frontends/common/options.h"
#include "ir/graph.h"
#include "support/file.h"

namespace qc::fx {

/// Imports a dump. Its tensors are read from the file it names, beside `path`; empty: there can be
/// none.
Result<std::unique_ptr<Graph>> load(const std::shared_ptr<const MappedFile>& file,
                                    const std::string& path, const ImportOptions& options = {});

}  // namespace qc::fx
