// NumPy's .npy files: one array each.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/tensor.h"
#include "support/result.h"

namespace qc {

/// Decodes the bytes of an .npy file into a row-major tensor; Fortran order and foreign byte order
/// are converted. `file` is the name shown in messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& file);
Result<Tensor> read_npy(const std::string& path);

/// The .npy header of a tensor, padded so that the elements follow 64-byte aligned. Types numpy
/// does not have are written as the unsigned (or signed) integers that hold their bits.
std::string npy_header(const Tensor& tensor);
Result<Ok> write_npy(const std::string& path, const Tensor& tensor);

}  // namespace qc
