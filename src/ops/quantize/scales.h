// Scales and zero points as kernels read them.
#pragma once

#include "program/lowering.h"
#include "quant/groups.h"
#include "quant/scheme.h"

namespace qc {

/// What codes are divided by (multiplied by, for reciprocals), one per group.
std::vector<float> divisors(const Format& format, bool reciprocal);
/// Known zero points, one or one per group; empty where all are 0.
std::vector<int32_t> zero_points(const Format& format);
/// The shape of dynamic scales of a value; nullopt for one scale per index of an axis.
std::optional<Dims> carried_shape(const Type& type);

/// Loops and scale strides of a value in the order its bytes lie.
struct GroupLoops {
  Dim outer = 1, axis = 1, inner = 1, group = 1;
  Dim s_outer = 0, s_axis = 0, s_inner = 0;

  template <class Params>
  void fill(Params& p) const {
    p.outer = outer;
    p.axis = axis;
    p.inner = inner;
    p.group = group;
    p.s_outer = s_outer;
    p.s_axis = s_axis;
    p.s_inner = s_inner;
  }
};
Result<GroupLoops> group_loops(const Lowering& l, const Type& type);
/// "i8" for i4 and the like: the type codes are stored in.
std::string code_suffix(DType dtype);

View float_constant(Lowering& l, const std::vector<float>& values);
/// Zero points of a value as a constant, one per scale; an absent view where all are 0.
View zero_constant(Lowering& l, const Type& type);
/// Records a lookup of operand 0 in `table`.
void lower_lookup(Lowering& l, const Dim& n, View table);

}  // namespace qc
