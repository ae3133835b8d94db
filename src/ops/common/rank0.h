// Rank-0 tensors in import rows: PyTorch lets an axis of 0 or -1 be named that they do not have.
#pragma once

#include "frontends/common/foreign.h"

namespace qc {

/// A row of an operation along an axis of `self`: a rank-0 tensor counts as a list of one, and the
/// results have rank 0 again, kept axes or not.
template <ImportFn kRow>
Result<Values> rank0_as_list(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (x->rank() > 0) return kRow(m);
  ForeignNode node = m.node();
  for (auto& [name, arg] : node.args) {
    if (name != "self") continue;
    QC_ASSIGN(arg, m.emit("reshape", {x}, {{"shape", Dims{1}}}));
  }
  Import inner(m.graph(), node);
  QC_ASSIGN(Values out, kRow(inner));
  for (Value*& v : out) {
    if (!v || v->rank() == 0) continue;
    QC_ASSIGN(v, m.emit("reshape", {v}, {{"shape", Dims{}}}));
  }
  return out;
}

}  // namespace qc
