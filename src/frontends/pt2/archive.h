// A .pt2 file: the graph's JSON and the tensors it names, whatever layout the writing PyTorch used.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/pt2/program.h"
#include "ir/tensor.h"
#include "support/file.h"
#include "support/zip.h"

namespace qc::pt2 {

/// A tensor as it lies in the archive: a whole storage and a strided window on it.
struct StoredTensor {
  ScalarType dtype = 0;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // in elements
  std::span<const std::byte> storage;
  bool pickled = false;  // `storage` is a torch.save archive and the rest is unset

  /// The same window on the same bytes.
  bool operator==(const StoredTensor& other) const;
};

/// The window's elements in row-major order: borrowed from `owner` when they already lie so.
/// Checks every bound; refuses complex types.
Result<Tensor> materialise(const StoredTensor& stored, std::shared_ptr<const void> owner,
                           const Loc& loc);

/// Tensors by name, decoded when asked for.
class TensorTable {
 public:
  /// Reads `<name>_config.json` and the raw storages beside it (torch 2.9 and later).
  Result<Ok> add_raw(const ZipArchive& zip, const std::string& folder, const std::string& config);
  /// Reads a torch.save archive of a dict of tensors (torch 2.8 and earlier).
  Result<Ok> add_saved(std::span<const std::byte> bytes, const std::string& file,
                       const std::string& entry);

  const StoredTensor* find(std::string_view name) const;
  size_t size() const { return tensors_.size(); }

 private:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

class Archive {
 public:
  static Result<Archive> open(std::shared_ptr<const MappedFile> file);
  static Result<Archive> open(const std::string& path);
  /// The same on bytes in memory, kept alive by `owner`.
  static Result<Archive> read(std::span<const std::byte> bytes, const std::string& file,
                              std::shared_ptr<const void> owner);

  const ExportedProgram& program() const { return program_; }
  const std::string& file() const { return file_; }
  /// The mapped file the tensors lie in; null when they are in memory.
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }
  /// A parameter or persistent buffer from the state dict, else from the constants.
  Result<Tensor> weight(std::string_view name) const;
  /// Elements [first, first + count) of the storage that tensor lies in.
  Result<Tensor> storage_of(std::string_view name, int64_t first, int64_t count) const;
  /// How that tensor is stored; null when there is none of this name.
  const StoredTensor* find(std::string_view name) const;

 private:
  Result<Ok> read_old(const ZipArchive& zip, std::string_view json);
  Result<Ok> read_new(const ZipArchive& zip);
  Result<Ok> add_dim_names(const ZipArchive& zip, const std::string& folder);

  std::string file_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const MappedFile> mapping_;
  ExportedProgram program_;
  TensorTable weights_, constants_;
};

}  // namespace qc::pt2
