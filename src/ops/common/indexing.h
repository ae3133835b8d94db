// PyTorch's advanced indexing, x[i, :, j], brought to tuples of indices: shared by reading and
// writing.
#pragma once

#include "frontends/common/foreign.h"

namespace qc {

struct Indexing {
  Value* tuples =
      nullptr;           // index tuples along the last axis; with one axis, the indices themselves
  Ints axes;             // which axes of the operand they index
  Dims picks;            // the common shape of the index tensors
  int64_t position = 0;  // where the axes of `picks` stand in the result
};

/// The operand as an index: i64 or i32; masks must be constant and become the places they select.
Result<Values> as_indices(const Import& m, Value* index);
/// Reads a list of index tensors (null: the whole axis) over `x`.
Result<Indexing> read_indices(const Import& m, Value* x, const Values& list);
/// The permutation that brings `axes` of a value of rank `rank` to the front.
Ints to_front(const Ints& axes, int64_t rank);
/// `x` with its axes in the order of `perm`.
Result<Value*> transposed(const Import& m, Value* x, const Ints& perm);

}  // namespace qc
