// ONNX models as graphs.
#pragma once

#include <memory>
#include <string>

#include "frontends/common/options.h"
#include "frontends/onnx/proto.h"
#include "ir/graph.h"

namespace qc::onnx {

/// Newest opset of the default domain the import rows were written for.
inline constexpr int64_t kNewestOpset = 28;

/// The model as a graph: functions inlined, constant conditions decided, every op turned into nodes
/// by its import row. Ops without a row are reported all at once. `model` must outlive the graph
/// only when it was parsed from memory.
Result<std::unique_ptr<Graph>> import_model(const Model& model, const ImportOptions& options = {});

/// Reads and imports a model. External data lies beside the file; `path` is empty for a model that
/// is only in memory, which can have none.
Result<std::unique_ptr<Graph>> load(std::shared_ptr<const MappedFile> file, const std::string& path,
                                    const ImportOptions& options = {});
Result<std::unique_ptr<Graph>> load(const std::string& path, const ImportOptions& options = {});

}  // namespace qc::onnx
