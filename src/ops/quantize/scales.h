// Scales and zero points as kernels read them.
#pragma once

#include "kernels/quantize/quantize.h"
#include "program/lowering.h"
#include "quant/groups.h"
#include "quant/scheme.h"

namespace qc {

/// What codes are divided by (multiplied by, for reciprocals), one per group.
std::vector<float> divisors(const Format& format, bool reciprocal);
/// Known zero points, one or one per group; empty where all are 0.
std::vector<int32_t> zero_points(const Format& format);
/// The shape of carried scales of a value; nullopt for one scale per index of an axis.
std::optional<Dims> carried_shape(const Type& type);

/// Loops and scale strides of a value in the order its bytes lie.
Result<qk_quantize_params> group_params(const Type& type, const Loc& loc);
Result<int32_t> element_count(const Type& type, const Loc& loc);
/// "i8" for i4 and the like: the type codes are stored in.
std::string code_suffix(DType dtype);

View float_constant(Lowering& l, const std::vector<float>& values);
/// Zero points of a value as a constant, one per scale; an absent view where all are 0.
View zero_constant(Lowering& l, const Type& type);
/// Records a lookup of operand 0 in `table`.
void lower_lookup(Lowering& l, int32_t n, View table);

}  // namespace qc
