// Tensors of an ONNX file as qc::Tensor, whatever their encoding.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "frontends/onnx/proto.h"
#include "ir/tensor.h"

namespace qc::onnx {

/// The element type for a number of ONNX's DataType; none for strings, complex and unknown ones.
std::optional<DType> dtype_of(int32_t data_type);
/// "FLOAT", "INT4", ... for messages; "type 99" for an unknown number.
std::string data_type_name(int32_t data_type);

/// The folder external data of one model may come from, and the files of it mapped so far.
class ExternalFiles {
 public:
  /// `model_path` is the model's file; empty for models in memory, which may have no external data.
  explicit ExternalFiles(std::string model_path) : model_path_(std::move(model_path)) {}

  struct Part {
    std::shared_ptr<const MappedFile> file;
    std::span<const std::byte> bytes;
  };
  /// The bytes an external tensor names. Files outside the model's folder (by an absolute path,
  /// "..", or a symbolic link), hard links and anything but regular files are refused. A model that
  /// is itself a symbolic link may also use the folder of the real file.
  Result<Part> open(const TensorProto& tensor);

 private:
  Result<std::shared_ptr<const MappedFile>> map(const Loc& loc, std::string_view location);

  std::string model_path_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> mapped_;
};

/// Turns tensor messages into tensors. Elements stay in the mapped file where they lie aligned and
/// in native form; else they are copied. Sub-byte types come out one element per byte, signed ones
/// sign-extended; bools as 0 or 1.
class TensorReader {
 public:
  /// For a model or tensor file that is mapped.
  explicit TensorReader(std::shared_ptr<const MappedFile> file)
      : file_(std::move(file)), path_(file_ ? file_->path() : ""), external_(path_) {}
  /// For messages in memory that outlives the tensors.
  TensorReader() : TensorReader(nullptr) {}

  Result<Tensor> read(const TensorProto& tensor);
  Result<Tensor> read(const SparseTensorProto& sparse);

  /// Where the elements of a tensor lie.
  struct Storage {
    DType dtype = DType::f32;
    int64_t size = 0;    // bytes as a qc::Tensor
    bool typed = false;  // in a typed field, not in `raw`
    std::span<const std::byte> raw;
    std::shared_ptr<const MappedFile> owner;
    bool borrowable = false;  // aligned and native in a mapped file
  };
  /// Checks type and sizes without reading the elements.
  Result<Storage> locate(const TensorProto& tensor);

 private:
  Loc loc(const TensorProto& tensor) const;

  std::shared_ptr<const MappedFile> file_;
  std::string path_;
  ExternalFiles external_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
/// Reads a `.pb` file that holds one bare TensorProto.
Result<NamedTensor> read_tensor_file(const std::string& path);

}  // namespace qc::onnx
