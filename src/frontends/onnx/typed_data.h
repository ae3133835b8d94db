// The typed data fields of a TensorProto (float_data, int32_data, ...) and the packing of sub-byte
// elements.
#pragma once

#include "frontends/onnx/proto.h"
#include "ir/tensor.h"

namespace qc::onnx {

/// Elements one byte of a file holds: 2 for four-bit types, 4 for two-bit types, else 1.
inline int per_byte(DType dtype) { return bits(dtype) < 8 ? 8 / bits(dtype) : 1; }
/// Entries that hold `count` elements, `per` to an entry.
inline int64_t packed_size(int64_t count, int per) { return count / per + (count % per != 0); }
/// Element `sub` of a byte that packs several, the first in the lowest bits; signed integers are
/// sign-extended.
uint8_t unpack(DType dtype, uint8_t byte, int sub);

/// A tensor of `count` elements (the product of its dims) from the field its type is stored in.
Result<Tensor> decode_typed(const TensorProto& tensor, DType dtype, int64_t count, const Loc& loc);

}  // namespace qc::onnx
