// Strided copies: what transpose, slice, concat, expand and their kin come down to, in the
// interpreter and as kernel calls.
#pragma once

#include "interp/eval.h"
#include "program/lowering.h"
#include "program/strided_alias.h"

namespace qc {

/// A box of elements that moves: extents and a stride per side and axis, in elements.
struct Strided {
  Dims dims, from, to;
  Dim from_offset = 0, to_offset = 0;
};

/// Known to reach outside `extent` elements: the elements of a box that starts at `offset`. Notes
/// what must hold where that is not known, as ir/relations.h does.
bool leaves(const Dim& extent, const Dims& size, const Dims& stride, const Dim& offset);

/// Row-major strides.
Ints strides_of(const Ints& dims);
Dims strides_of(const Dims& dims);
/// Strides of the logical axes of a value as it lies in memory.
Dims strides_of(const Type& type);
/// Row-major strides of a tensor.
Dims strides_of(const Tensor& tensor);

/// The same copy with as few axes as possible, in an order that writes y forward.
Strided simplified(Strided copy);
/// Whether a simplified copy is one dense run.
bool is_run(const Strided& copy);

/// Moves the elements of `x` into `y`, whose element types have the same size.
void move_elements(const Strided& copy, const Tensor& x, Tensor& y);
/// Records the kernel call for a copy between buffers of `dtype`.
Result<Ok> call_strided(Lowering& l, const Strided& copy, DType dtype, View from, View to);

/// `value` as 32 bits; an error where it does not fit.
Result<int32_t> param(int64_t value, const Loc& loc);
/// Number of elements of a list of dims.
int64_t count(const Ints& dims);
inline Dim count(const Dims& dims) { return product(dims); }
/// Whether a dim is 0: there is nothing to compute.
bool is_empty(const Dims& dims);
/// A number in place of a size where it decides about speed only.
int64_t typical(const Dim& size);
/// The type of `x` with another shape. The layout stays where the rank does; a format per axis or
/// group is not kept by moves in general.
Type moved(const Type& x, Dims shape);

/// Base of ops whose one output is a strided view of their one operand. Derived supplies
/// `Strided view(const Dims& x, const Dims& y) const`: the copy, given the strides of both sides.
template <class Derived>
class ViewNode : public OpNode<Derived> {
 public:
  Result<Ok> eval(EvalContext& c) const override {
    move_elements(self().view(strides_of(c.in(0)), strides_of(c.out(0))), c.in(0), c.out(0));
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    const DType dtype = l.in_type(0).dtype;
    const Dim each(static_cast<int64_t>(bytes(dtype)));
    View storage = l.in(0);
    if (const auto at = strided_alias(this->output()); at && !is_empty(l.out_dims())) {
      storage.offset = storage.offset + at->offset * each;
      l.alias_strided(0, std::move(storage), at->strides);
      return Ok{};
    }
    const Strided copy =
        simplified(self().view(strides_of(l.in_type(0)), strides_of(l.out_type())));
    if (!is_empty(l.out_dims()) && !is_run(copy))
      return call_strided(l, copy, dtype, l.in(0), l.out());
    storage.offset = storage.offset + copy.from_offset * each;
    l.alias(0, std::move(storage));
    return Ok{};
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace qc
