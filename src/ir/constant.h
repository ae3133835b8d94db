// ConstantPool: the constants of a model as handles. A constant is either bytes (owned, or pointing
// into a mapped model file) or a recorded computation over other constants, evaluated when its
// contents are needed, so that large weights are transformed while they are written and never all
// sit in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/tensor.h"
#include "ir/type.h"
#include "support/file.h"

namespace qc {

class ConstantPool {
 public:
  using Maker = std::function<Result<Tensor>()>;

  /// Adds bytes. Small tensors are interned by content; `name` is the model's own name, if any.
  ConstId add(Tensor tensor, std::string name = {});
  /// Records a computation. `make` must always yield the stated type and shape.
  ConstId add_lazy(DType dtype, std::vector<int64_t> shape, std::string name, Maker make);

  /// Notes that `id` was computed from `operand`, which counts where it has as many elements and,
  /// of several, comes from the narrowest.
  void made_from(ConstId id, ConstId operand);
  /// The narrowest of `id` and the constants that it was computed from, one after the other.
  ConstId narrowest(ConstId id) const;

  size_t size() const { return entries_.size(); }
  DType dtype(ConstId id) const { return entries_[id].dtype; }
  const std::vector<int64_t>& shape(ConstId id) const { return entries_[id].shape; }
  const std::string& name(ConstId id) const { return entries_[id].name; }
  int64_t element_count(ConstId id) const;
  int64_t byte_size(ConstId id) const;
  Type type(ConstId id) const { return Type(dtype(id), to_dims(shape(id))); }

  /// The contents; recorded computations run now. Results up to 64 KiB are kept.
  Result<Tensor> get(ConstId id) const;

  /// Keeps a model file mapped as long as the pool lives.
  void add_file(std::shared_ptr<const MappedFile> file) { files_.push_back(std::move(file)); }
  /// Lets the system reclaim the pages of the model files read so far.
  void drop_pages() const;

 private:
  struct Entry {
    DType dtype;
    std::vector<int64_t> shape;
    std::string name;
    Tensor tensor;
    bool ready = false;
    Maker make;
    std::optional<ConstId> source;  // an earlier constant
  };
  mutable std::vector<Entry> entries_;
  std::unordered_map<size_t, std::vector<ConstId>> by_hash_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace qc
