#include "driver/load.h"

#include <cstring>

#include "frontends/onnx/import.h"
#include "frontends/pt2/importer.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "support/file.h"

namespace qc {
namespace {

enum class FileKind { onnx, pt2, text };

FileKind kind_of(std::span<const std::byte> bytes) {
  auto starts = [&](std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (starts("PK")) return FileKind::pt2;
  if (starts("graph ")) return FileKind::text;
  return FileKind::onnx;
}

}  // namespace

Result<std::unique_ptr<Graph>> load_model(const std::string& path, const ImportOptions& options) {
  register_all_ops();
  FileKind kind;
  {
    QC_ASSIGN(auto file, MappedFile::open(path));
    kind = kind_of(file->bytes());
  }
  Result<std::unique_ptr<Graph>> graph = [&]() -> Result<std::unique_ptr<Graph>> {
    switch (kind) {
      case FileKind::pt2:
        return pt2::load(path, options);
      case FileKind::text: {
        QC_ASSIGN(std::string text, read_text(path));
        return parse(text);
      }
      case FileKind::onnx:
        break;
    }
    return onnx::load(path, options);
  }();
  if (!graph.ok()) {
    if (graph.diag().loc.file.empty()) graph.diag().loc.file = path;
    return graph;
  }
  (*graph)->file = path;
  QC_TRY(verify(**graph));
  return graph;
}

}  // namespace qc
