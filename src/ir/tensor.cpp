#include "ir/tensor.h"

#include <cstring>

#include "support/checked.h"

namespace qc {

Result<int64_t> checked_bytes(DType dtype, std::span<const int64_t> shape) {
  auto elements = checked_product(shape);
  auto total = elements ? checked_mul(*elements, static_cast<int64_t>(bytes(dtype))) : std::nullopt;
  if (!total || *total > kMaxTensorBytes) {
    return error(Code::limit, "a tensor of this shape is larger than 2^40 bytes");
  }
  return *total;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  auto total = checked_bytes(dtype_, shape_);
  QC_CHECK(total.ok(), "tensor size was not checked");
  size_ = *total / static_cast<int64_t>(qc::bytes(dtype_));
  owned_ = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(*total));
  bytes_ = *owned_;
}

Tensor Tensor::borrow(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.size_ = static_cast<int64_t>(bytes.size() / qc::bytes(dtype));
  t.bytes_ = bytes;
  t.owner_ = std::move(owner);
  return t;
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!owned_ || owned_.use_count() > 1) {
    owned_ = std::make_shared<std::vector<std::byte>>(bytes_.begin(), bytes_.end());
    owner_.reset();
    bytes_ = *owned_;
  }
  return *owned_;
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

bool Tensor::identical(const Tensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ && bytes_.size() == other.bytes_.size() &&
         std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

}  // namespace qc
