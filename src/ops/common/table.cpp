#include "ops/common/table.h"

#include <cstring>

#include "kernels/gather/calls.h"
#include "ops/common/index.h"

namespace qc {

void pick_elements(const Tables& tables, const Tensor& x, Tensor& y) {
  const size_t size = bytes(x.dtype());
  Ints dims;
  for (const Ints& t : tables) dims.push_back(static_cast<int64_t>(t.size()));
  const Ints strides = strides_of(dims);
  std::byte* to = y.mutable_bytes().data();
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      from += tables[d][static_cast<size_t>(i / strides[d] % dims[d])];
    }
    std::memcpy(to + static_cast<size_t>(i) * size,
                x.bytes().data() + static_cast<size_t>(from) * size, size);
  }
}

Tables physical_tables(const Tables& positions, const Type& x, const Type& y) {
  Tables out(positions.size());
  const Ints strides = static_dims(strides_of(x));
  for (size_t i = 0; i < positions.size(); ++i) {
    Ints& table = out[static_cast<size_t>(physical_axis(y, static_cast<int64_t>(i)))];
    for (int64_t position : positions[i]) table.push_back(position * strides[i]);
  }
  return out;
}

Result<Ok> call_table(Lowering& l, Tables tables, DType dtype, View from, View to) {
  // A last axis taken whole becomes part of the element.
  int64_t block = static_cast<int64_t>(bytes(dtype)), unit = 1;
  while (!tables.empty()) {
    const Ints& last = tables.back();
    bool whole = true;
    for (size_t i = 0; whole && i < last.size(); ++i)
      whole = last[i] == static_cast<int64_t>(i) * unit;
    for (size_t d = 0; whole && d + 1 < tables.size(); ++d) {
      for (int64_t offset : tables[d])
        whole = whole && offset % (unit * static_cast<int64_t>(last.size())) == 0;
    }
    if (!whole || last.empty()) break;
    unit *= static_cast<int64_t>(last.size());
    block *= static_cast<int64_t>(last.size());
    tables.pop_back();
  }
  Ints dims;
  std::vector<int32_t> offsets;
  for (const Ints& table : tables) {
    dims.push_back(static_cast<int64_t>(table.size()));
    if (table.empty()) return Ok{};
  }
  kernel::GatherTable p;
  QC_TRY(fill_params(p.dims, to_dims(dims), 1, l.loc()));
  p.block = block;
  offsets.assign(8 - tables.size(), 0);
  for (const Ints& table : tables) {
    for (int64_t offset : table) {
      QC_ASSIGN(const Dim at, l.param(offset / unit));
      offsets.push_back(static_cast<int32_t>(at.value()));
    }
  }
  const int64_t n = static_cast<int64_t>(offsets.size());
  p.x = from;
  p.table = l.constant(Tensor::of<int32_t>(DType::i32, {n}, offsets), "positions");
  p.y = to;
  l.emit(p);
  return Ok{};
}

}  // namespace qc
