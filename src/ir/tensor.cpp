#include "ir/tensor.h"

#include <algorithm>
#include <cstring>

#include "support/budget.h"
#include "support/checked.h"

namespace qc {

Result<int64_t> checked_bytes(DType dtype, std::span<const int64_t> shape) {
  // A size of 0 does not hide huge sizes beside it: products of some of them must fit too.
  int64_t total = static_cast<int64_t>(bytes(dtype));
  bool empty = false;
  for (int64_t d : shape) {
    empty |= d == 0;
    auto product = d < 0 ? std::nullopt : checked_mul(total, std::max<int64_t>(d, 1));
    if (!product || *product > kMaxTensorBytes) {
      return error(Code::limit, "a tensor of this shape is larger than 2^40 bytes");
    }
    total = *product;
  }
  return empty ? 0 : total;
}

namespace {
constexpr std::byte kNothing{};

/// Storage of `bytes`, with an address even for none of them: C's copy functions refuse null.
std::shared_ptr<std::vector<std::byte>> storage(size_t bytes) {
  const auto held = static_cast<int64_t>(bytes);
  spend(Cost::work, held / 16);
  struct Release {
    int64_t held;
    void operator()(std::vector<std::byte>* storage) const {
      delete storage;
      release(Cost::tensors, held);
    }
  };
  auto bytes_of_tensor = std::make_unique<std::vector<std::byte>>();
  hold(Cost::tensors, held);
  std::unique_ptr<std::vector<std::byte>, Release> out(bytes_of_tensor.release(), {held});
  out->reserve(1);
  out->resize(bytes);
  return out;
}
}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  auto total = checked_bytes(dtype_, shape_);
  QC_CHECK(total.ok(), "tensor size was not checked");
  size_ = *total / static_cast<int64_t>(qc::bytes(dtype_));
  owned_ = storage(static_cast<size_t>(*total));
  bytes_ = *owned_;
}

Tensor Tensor::borrow(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.size_ = static_cast<int64_t>(bytes.size() / qc::bytes(dtype));
  t.bytes_ = bytes.empty() ? std::span(&kNothing, 0) : bytes;
  t.owner_ = std::move(owner);
  return t;
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!owned_ || owned_.use_count() > 1) {
    auto copy = storage(bytes_.size());
    std::copy(bytes_.begin(), bytes_.end(), copy->begin());
    owned_ = std::move(copy);
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
