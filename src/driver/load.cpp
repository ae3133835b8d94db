#include "driver/load.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "driver/given_inputs.h"
#include "driver/other_files.h"
#include "frontends/fx/importer.h"
#include "frontends/onnx/import.h"
#include "frontends/pt2/importer.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "quant/arithmetic.h"
#include "support/budget.h"
#include "support/file.h"

namespace qc {
namespace {

enum class FileKind { onnx, pt2, fx, text };

FileKind kind_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) return FileKind::pt2;
  if (text.starts_with("{")) return FileKind::fx;  // JSON
  // The text form begins with its graph, a constant or a comment; no ONNX file begins with '@', and
  // in none '/' is a field.
  for (const std::string_view begin : {"graph ", "@", "//"}) {
    if (text.starts_with(begin)) return FileKind::text;
  }
  return FileKind::onnx;
}

/// Arrays and C tell inputs apart by name, and outputs; unnamed inputs have their numbers.
Result<Ok> check_names(const Graph& graph) {
  std::set<std::string> inputs, outputs;
  for (const Value* v : graph.inputs()) {
    if (!v->name().empty() && !inputs.insert(v->name()).second) {
      return error(Code::graph, "input '{}' is defined twice", v->name());
    }
  }
  for (const Output& o : graph.outputs()) {
    if (!outputs.insert(o.name).second) {
      return error(Code::graph, "two outputs are named '{}'", o.name);
    }
  }
  return Ok{};
}

Result<std::unique_ptr<Graph>> load_text(const MappedFile& file, const ImportOptions& options) {
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  QC_ASSIGN(auto graph, parse(text, {.file = file.path(), .side = nullptr}));
  QC_TRY(check_names(*graph));
  for (const auto& [name, tensor] : options.constants) {
    const auto& inputs = graph->inputs();
    const auto found = std::ranges::find_if(inputs, [&](Value* v) { return v->name() == name; });
    if (found == inputs.end()) continue;
    if (to_dims(tensor.shape()) != (*found)->shape()) {
      return error(Code::dim, Loc{file.path(), {name}, "input"},
                   "--const {}: the input is {}: a model in text form needs numbers for its sizes",
                   name, str((*found)->type()));
    }
    graph->freeze_input(*found, tensor);
  }
  return graph;
}

/// `beside` is the path beside which external data may lie; empty for none.
Result<std::unique_ptr<Graph>> load(const std::shared_ptr<const MappedFile>& file,
                                    const std::string& beside, ImportOptions options) {
  const std::string& path = file->path();
  QC_ASSIGN(const ModelArithmetic arithmetic, parse_model_arithmetic(options.arithmetic));
  options.dot = arithmetic.dot.value_or(options.dot);
  if (const std::string other = other_kind(path, file->bytes()); !other.empty())
    return error(Code::unsupported, Loc{path, {}, {}}, "{}", other);
  Result<std::unique_ptr<Graph>> graph = [&]() -> Result<std::unique_ptr<Graph>> {
    switch (kind_of(file->bytes())) {
      case FileKind::pt2: {
        QC_ASSIGN(const pt2::Archive archive, pt2::Archive::open(file));
        return pt2::import_archive(archive, options);
      }
      case FileKind::fx: {
        QC_ASSIGN(auto loaded, fx::load(file, beside, options));
        QC_TRY(check_names(*loaded));
        return loaded;
      }
      case FileKind::text:
        return load_text(*file, options);
      case FileKind::onnx:
        break;
    }
    return onnx::load(file, beside, options);
  }();
  if (!graph.ok()) {
    Diag& diag = graph.diag();
    if (diag.loc.file.empty()) diag.loc.file = path;
    add_advice(diag);
    return graph;
  }
  (*graph)->file = path;
  if (options.inputs_only) return graph;
  if (!options.arithmetic.empty()) QC_TRY(set_arithmetic(**graph, options.arithmetic));
  QC_TRY(verify(**graph));
  return graph;
}

/// Imports the file as the options of a compilation say. What they say about inputs needs the
/// types of these, which are read first.
Result<std::unique_ptr<Graph>> load(const std::shared_ptr<const MappedFile>& file,
                                    const std::string& path, const quantc::Options& options,
                                    std::vector<std::string>* remarks) {
  ImportOptions import;
  import.dims.insert(options.dims.begin(), options.dims.end());
  import.arithmetic = options.arithmetic;
  if (!options.shapes.empty() || !options.constants.empty()) {
    QC_ASSIGN(const auto inputs, load(file, path, ImportOptions{.inputs_only = true}));
    QC_TRY(apply_given(*inputs, options, import));
  }
  import.remarks = remarks;
  QC_ASSIGN(auto graph, load(file, path, import));
  if (options.state == "io") graph->expose_states();
  return graph;
}

Result<std::shared_ptr<const MappedFile>> open_model(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const Loc loc{path, {}, {}};
    const std::string other = folder_kind(path);
    if (!other.empty()) return error(Code::unsupported, loc, "{}", other);
    return error(Code::file, loc,
                 "is a folder, not a regular file: give the .onnx or .pt2 file in it");
  }
  return MappedFile::open(path);
}

}  // namespace

Result<std::unique_ptr<Graph>> load_model(const std::string& path, const ImportOptions& options) {
  register_all_ops();
  const Loc where{path, {}, {}};
  const Doing doing("reading the model", &where);
  QC_ASSIGN(auto file, open_model(path));
  return load(file, path, options);
}

Result<std::unique_ptr<Graph>> load_model(const std::string& path, const quantc::Options& options,
                                          std::vector<std::string>* remarks) {
  register_all_ops();
  const Loc where{path, {}, {}};
  const Doing doing("reading the model", &where);
  QC_ASSIGN(auto file, open_model(path));
  return load(file, path, options, remarks);
}

Result<std::unique_ptr<Graph>> load_model(std::span<const std::byte> bytes, const std::string& name,
                                          const quantc::Options& options,
                                          std::vector<std::string>* remarks) {
  register_all_ops();
  const Loc where{name, {}, {}};
  const Doing doing("reading the model", &where);
  QC_ASSIGN(auto file, MappedFile::of_bytes(bytes, name));
  return load(file, "", options, remarks);
}

}  // namespace qc
