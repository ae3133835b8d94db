#include "ops/common/indexing.h"

#include <algorithm>

#include "ops/common/range.h"

namespace qc {

Ints to_front(const Ints& axes, int64_t rank) {
  Ints perm = axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) perm.push_back(i);
  }
  return perm;
}

Result<Value*> transposed(const Import& m, Value* x, const Ints& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return m.emit("transpose", {x}, {{"perm", perm}});
}

Result<Values> as_indices(const Import& m, Value* index) {
  if (index->dtype() == DType::i64 || index->dtype() == DType::i32) return Values{index};
  if (index->dtype() != DType::boolean) {
    QC_ASSIGN(Value * cast, m.cast(index, DType::i64));
    return Values{cast};
  }
  if (!index->is_constant()) {
    return m.fail(Code::unsupported,
                  "a mask computed at run time selects a number of elements that is not known when "
                  "compiling");
  }
  QC_ASSIGN(Tensor mask, m.constant(index, "the mask"));
  std::vector<Ints> positions(static_cast<size_t>(mask.rank()));
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (mask.as_int(i) == 0) continue;
    int64_t rest = i;
    for (size_t d = positions.size(); d-- > 0;) {
      positions[d].push_back(rest % mask.shape()[d]);
      rest /= mask.shape()[d];
    }
  }
  Values out;
  for (const Ints& list : positions) out.push_back(m.int_list(list));
  return out;
}

Result<Indexing> read_indices(const Import& m, Value* x, const Values& list) {
  Values indices;  // one per axis, null where the whole axis is kept
  for (Value* v : list) {
    if (!v) {
      indices.push_back(nullptr);
      continue;
    }
    QC_ASSIGN(Values parts, as_indices(m, v));
    indices.insert(indices.end(), parts.begin(), parts.end());
  }
  if (static_cast<int64_t>(indices.size()) > x->rank()) {
    return m.fail(Code::shape, "{} indices into a tensor of rank {}", indices.size(), x->rank());
  }
  Indexing out;
  DType type = DType::i32;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    out.axes.push_back(static_cast<int64_t>(i));
    QC_ASSIGN(out.picks, broadcast(out.picks, indices[i]->shape(), m.loc()));
    type = promote(type, indices[i]->dtype());
  }
  if (out.axes.empty()) return m.fail(Code::attribute, "no index is given");
  // Index tensors on neighbouring axes put their result there, others at the front.
  const bool adjacent =
      out.axes.back() - out.axes.front() + 1 == static_cast<int64_t>(out.axes.size());
  out.position = adjacent ? out.axes.front() : 0;
  if (out.axes.size() == 1) {
    out.tuples = indices[static_cast<size_t>(out.axes[0])];
    return out;
  }
  Values columns;
  for (int64_t axis : out.axes) {
    Value* v = indices[static_cast<size_t>(axis)];
    QC_ASSIGN(v, m.cast(v, type));
    if (!(v->shape() == out.picks)) {
      QC_ASSIGN(v, m.emit("expand", {v}, {{"shape", out.picks}}));
    }
    Dims shape = out.picks;
    shape.push_back(Dim(1));
    QC_ASSIGN(v, reshaped(m, v, shape));
    columns.push_back(v);
  }
  QC_ASSIGN(out.tuples,
            m.emit("concat", columns, {{"axis", static_cast<int64_t>(out.picks.size())}}));
  return out;
}

}  // namespace qc
