// PyTorch .pt2 files as graphs.
#pragma once

#include <memory>
#include <string>

#include "frontends/common/options.h"
#include "frontends/pt2/archive.h"
#include "ir/graph.h"

namespace qc::pt2 {

/// Reads and imports the file. Writes in place become pure values and mutated buffers become state.
/// A model that writes to its own input reads the new contents from then on; the caller's array
/// stays as it was.
Result<std::unique_ptr<Graph>> load(const std::string& path, const ImportOptions& options = {});
Result<std::unique_ptr<Graph>> import_archive(const Archive& archive,
                                              const ImportOptions& options = {});

}  // namespace qc::pt2
