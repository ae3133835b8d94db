// Tensors by name in a safetensors file: eight bytes with the length of a JSON header, the header,
// and the elements.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/tensor.h"
#include "support/file.h"

namespace qc::fx {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// The tensors of a safetensors file, which is `file` from byte `begin` on. They point into its
/// mapping. Every bound is checked.
Result<TensorMap> read_safetensors(const std::shared_ptr<const MappedFile>& file, size_t begin = 0);

/// quantc's type of a name that PyTorch has ("float32", "int8", "bool", ...).
std::optional<DType> dtype_named(std::string_view name);

}  // namespace qc::fx
