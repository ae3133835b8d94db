// NumPy's .npy files: one array each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "support/result.h"

namespace qc {

/// What the header of an .npy file says.
struct NpyHeader {
  DType dtype = DType::f32;
  bool swapped = false;  // elements of more than one byte, in foreign order
  bool fortran = false;  // elements of more than one axis, the first fastest
  std::vector<int64_t> shape;
  size_t size = 0;  // bytes before the elements
};
constexpr size_t kNpyHeaderLimit = 1 << 16;
/// Reads the header from the first bytes of a file, all or at least `kNpyHeaderLimit` of its
/// `file_size`, which must be what the shape needs.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> front, uint64_t file_size,
                                   const std::string& file);

/// Decodes the bytes of an .npy file into a row-major tensor; Fortran order and foreign byte order
/// are converted. `file` is the name shown in messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& file);
Result<Tensor> read_npy(const std::string& path);

/// The .npy header of a tensor, padded so that the elements follow 64-byte aligned. Types numpy
/// does not have are written as the unsigned (or signed) integers that hold their bits.
std::string npy_header(const Tensor& tensor);
Result<Ok> write_npy(const std::string& path, const Tensor& tensor);

}  // namespace qc
