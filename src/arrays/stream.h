// Arrays read once, from front to back, in chunks: memory does not depend on their size.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrays/npz.h"
#include "ir/tensor.h"
#include "support/result.h"

namespace qc {

/// An array whose elements come chunk by chunk. Arrays in Fortran order or of foreign byte order
/// are held whole.
class ArrayStream {
 public:
  /// The arrays of an .npz archive, named without their ".npy".
  static Result<std::vector<ArrayStream>> open_npz(const std::string& path);
  /// The array of an .npy file, without a name.
  static Result<ArrayStream> open_npy(const std::string& path);
  explicit ArrayStream(NamedArray array);
  ArrayStream(ArrayStream&&) noexcept;
  ArrayStream& operator=(ArrayStream&&) noexcept;
  ~ArrayStream();

  const std::string& name() const { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  /// The next elements under a shape of their own; the array has that many left.
  Result<Tensor> next(const std::vector<int64_t>& shape);

 private:
  class Source;
  ArrayStream(std::string name, DType dtype, std::vector<int64_t> shape,
              std::unique_ptr<Source> source);
  static Result<ArrayStream> open(std::string name, const std::string& file,
                                  std::unique_ptr<Source> source, uint64_t size);

  std::string name_;
  DType dtype_;
  std::vector<int64_t> shape_;
  std::unique_ptr<Source> source_;
};

}  // namespace qc
