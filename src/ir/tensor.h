// Tensor: concrete elements in host memory, row-major and contiguous. Bytes are shared and, when
// they come from a model file, point into its mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "support/result.h"

namespace qc {

class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled. The caller has checked that the size does not overflow (see `checked_bytes`).
  Tensor(DType dtype, std::vector<int64_t> shape);
  /// Borrows `bytes`, kept alive by `owner`. bytes.size() must be size()*bytes(dtype).
  static Tensor borrow(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);
  /// A tensor with copied elements, for tests and small constants: `Tensor::of<float>({2}, {1,
  /// 2})`.
  template <class T>
  static Tensor of(DType dtype, std::vector<int64_t> shape, std::span<const T> values);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Writable bytes: copies first when the bytes are borrowed or shared.
  std::span<std::byte> mutable_bytes();

  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_bytes().data());
  }

  /// The same elements under another shape of equal size.
  Tensor reshaped(std::vector<int64_t> shape) const;

  /// Element i as a double / int64 whatever the element type (exact where representable).
  double as_double(int64_t i) const;
  int64_t as_int(int64_t i) const;
  /// Stores with the conversion rules of the contract's cast.
  void set_double(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

  /// Same type, shape and bytes (NaNs compare by bits).
  bool identical(const Tensor& other) const;

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<std::vector<std::byte>> owned_;  // set when the bytes are ours to write
};

/// Bytes of a tensor, or an error when the product overflows or exceeds `kMaxTensorBytes`.
Result<int64_t> checked_bytes(DType dtype, std::span<const int64_t> shape);
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

template <class T>
Tensor Tensor::of(DType dtype, std::vector<int64_t> shape, std::span<const T> values) {
  Tensor t(dtype, std::move(shape));
  T* p = t.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) p[i] = values[i];
  return t;
}

}  // namespace qc
