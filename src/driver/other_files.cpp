#include "driver/other_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "support/zip.h"

namespace qc {
namespace {

constexpr const char* kExport =
    "load the module in Python and save torch.export.save(torch.export.export(module.eval(), "
    "(example,)), 'model.pt2')";

/// Bytes that stand at a place of every file of a kind, or how its name ends.
struct OtherKind {
  size_t at;
  std::string_view magic;      // empty: any
  std::string_view extension;  // empty: any
  std::string_view what, todo;
};
constexpr OtherKind kKinds[] = {
    {4, "TFL3", "", "a TensorFlow Lite model", "convert it: python -m tf2onnx.convert --tflite"},
    {0, "\x89HDF\r\n", "", "a Keras or HDF5 file",
     "convert the model: python -m tf2onnx.convert --keras, or model.export(..., format='onnx')"},
    {0, "GGUF", "", "a GGUF file, which has weights but no graph",
     "export the model from PyTorch as .pt2 or .onnx"},
    {8, "{\"", ".safetensors", "a safetensors file, which has weights but no graph",
     "load them into the module in Python, and export that as .pt2 or .onnx"},
    {0, "", ".py", "a Python program",
     "let it save torch.export.save(torch.export.export(module.eval(), (example,)), 'model.pt2')"},
    {0, "", ".xml", "an XML file, perhaps of OpenVINO",
     "use the .onnx or .pt2 file it was made from"},
    {0, "\x93NUMPY", "", "an array of NumPy",
     "give the model before it: arrays are for -i, -e and --data"},
    {0, "", ".mlmodel", "a Core ML model", "use the PyTorch or ONNX model it was made from"},
    {0, "\x08\x01\x12", ".pb", "a SavedModel of TensorFlow",
     "convert its folder: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx"},
};

bool contains(const ZipArchive& zip, std::string_view part) {
  for (const ZipEntry& e : zip.entries()) {
    if (e.name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// Archives of others; empty for those of torch.export and for damaged ones.
std::string archive_kind(const std::string& path, std::span<const std::byte> bytes) {
  const auto zip = ZipArchive::read(bytes, path, ZipEntries::stored_or_deflated, ZipNames::any);
  if (!zip.ok()) return {};
  if (contains(*zip, "/code/") && contains(*zip, "constants.pkl"))
    return std::string(
               "this is a TorchScript file, which holds a program but no exported graph; ") +
           kExport;
  if (contains(*zip, "/data.pkl"))
    return std::string("this is a file of torch.save, which has weights but no graph; ") + kExport;
  const bool arrays = std::ranges::all_of(
      zip->entries(), [](const ZipEntry& e) { return e.name.ends_with(".npy"); });
  if (arrays && !zip->entries().empty())
    return "these are arrays of NumPy; give the model before them: arrays are for -i, -e and "
           "--data";
  if (zip->find("model.weights.h5"))
    return "this is a Keras model; convert it with model.export(..., format='onnx')";
  return {};
}

}  // namespace

std::string other_kind(const std::string& path, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) return archive_kind(path, bytes);
  const std::string extension = std::filesystem::path(path).extension().string();
  for (const OtherKind& kind : kKinds) {
    if (!kind.extension.empty() && kind.extension != extension) continue;
    if (text.size() < kind.at || !text.substr(kind.at).starts_with(kind.magic)) continue;
    return "this is " + std::string(kind.what) + "; " + std::string(kind.todo);
  }
  if (text.starts_with("\x80") &&
      (extension == ".pt" || extension == ".pth" || extension == ".pkl"))
    return std::string("this is a pickle of torch.save, which has weights but no graph; ") +
           kExport;
  return {};
}

std::string folder_kind(const std::string& path) {
  const std::filesystem::path folder = path;
  std::error_code ignored;
  const auto has = [&](const char* name) {
    return std::filesystem::exists(folder / name, ignored);
  };
  if (has("saved_model.pb"))
    return "this is a SavedModel of TensorFlow; convert it: python -m tf2onnx.convert "
           "--saved-model "
           "FOLDER --output model.onnx";
  if (has("config.json") &&
      (has("model.safetensors") || has("pytorch_model.bin") || has("model.safetensors.index.json")))
    return std::string(
               "this is a model of Hugging Face transformers, which has weights but no graph; ") +
           kExport;
  if (has("Manifest.json") || path.ends_with(".mlpackage") || path.ends_with(".mlpackage/"))
    return "this is a Core ML package; use the PyTorch or ONNX model it was made from";
  return {};
}

void add_advice(Diag& diag) {
  if (diag.code == Code::dim && diag.text.find("--dim") == std::string::npos)
    diag.notes.push_back("--dim NAME=SIZE gives a symbolic size a number");
  for (const std::string& note : diag.notes) {
    if (note.find("access_subclass_inner_tensor") == std::string::npos) continue;
    diag.notes.push_back(
        "weights of this model are tensors of a subclass (torchao); run_decompositions() takes "
        "them apart: torch.export.save(torch.export.export(module, "
        "(example,)).run_decompositions(), 'model.pt2')");
    return;
  }
}

}  // namespace qc
