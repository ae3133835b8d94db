// The nodes that passes put between floats and codes, by what they do: passes name no op.
#pragma once

#include "ir/graph.h"
#include "ir/insert_point.h"
#include "quant/arithmetic.h"
#include "quant/scheme.h"

namespace qc {

/// Codes of `x` in a format with static scales.
Result<Value*> emit_quantize(const InsertPoint& point, Value* x, const QType& to,
                             const Arithmetic& arithmetic);
/// What the codes stand for; scale and zero point are given where the format carries them.
Result<Value*> emit_dequantize(const InsertPoint& point, Value* codes, Value* scale = nullptr,
                               Value* zero_point = nullptr);
/// The same codes in another format.
Result<Value*> emit_requantize(const InsertPoint& point, Value* codes, const QType& to,
                               const Arithmetic& arithmetic);
/// Codes that lie in another format, seen as codes of `to`; the value itself where it has it.
Result<Value*> emit_with_format(const InsertPoint& point, Value* codes, const QType& to);
/// `count` indices of an axis of the value, from `first` on.
Result<Value*> emit_slice(const InsertPoint& point, Value* x, int64_t axis, int64_t first,
                          int64_t count);
/// The same elements in the same order.
Result<Value*> emit_reshape(const InsertPoint& point, Value* x, const Dims& shape);
/// `x` through codes whose scale is found at run time.
Result<Value*> emit_dynamic(const InsertPoint& point, Value* x, const DynamicScheme& scheme);
/// The elements as another type.
Result<Value*> emit_cast(const InsertPoint& point, Value* x, DType to);
/// Codes through a constant table of 256 codes.
Result<Value*> emit_lookup(const InsertPoint& point, Value* codes, Tensor table, const QType& to);

}  // namespace qc
