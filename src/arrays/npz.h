// NumPy's .npz files: named arrays in a zip archive, stored or deflated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "support/result.h"
#include "support/zip.h"

namespace qc {

struct NamedArray {
  std::string name;
  Tensor tensor;
};

/// The name of an array in an archive: without its ".npy".
std::string_view npz_name(const ZipEntry& entry);

/// The arrays in the order of the archive, named without their ".npy".
Result<std::vector<NamedArray>> parse_npz(std::span<const std::byte> bytes,
                                          const std::string& file);
Result<std::vector<NamedArray>> read_npz(const std::string& path);

/// The arrays as a file, uncompressed; the same arrays always give the same bytes. Any name of at
/// most 65,531 bytes without a zero is possible, also one with slashes.
Result<std::string> npz_bytes(std::span<const NamedArray> arrays);
/// Writes the arrays uncompressed; the same arrays always give the same bytes.
Result<Ok> write_npz(const std::string& path, std::span<const NamedArray> arrays);

}  // namespace qc
