#include "ops/common/strided.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/strided/calls.h"

namespace qc {

Ints strides_of(const Ints& dims) {
  Ints out(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = stride;
    stride *= dims[i];
  }
  return out;
}

Ints strides_of(const Type& type) {
  const Ints physical = strides_of(physical_dims(type));
  Ints out(physical.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = physical[static_cast<size_t>(physical_axis(type, static_cast<int64_t>(i)))];
  }
  return out;
}

int64_t count(const Ints& dims) {
  // A walk may have its zero last: what stands before it is then bound by no tensor's size.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Type moved(const Type& x, Dims shape) {
  Type y(x.dtype, std::move(shape));
  if (y.rank() == x.rank()) y.layout = x.layout;
  if (x.format && x.format->granularity == Granularity::tensor) y.format = x.format;
  return y;
}

Strided simplified(Strided copy) {
  if (count(copy.dims) == 0) return {{0}, {1}, {1}, 0, 0};
  std::vector<size_t> order;
  for (size_t i = 0; i < copy.dims.size(); ++i) {
    if (copy.dims[i] != 1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(copy.to[a]) > std::abs(copy.to[b]); });
  Strided out{{}, {}, {}, copy.from_offset, copy.to_offset};
  for (size_t i : order) {
    if (!out.dims.empty() && out.from.back() == copy.from[i] * copy.dims[i] &&
        out.to.back() == copy.to[i] * copy.dims[i]) {
      out.dims.back() *= copy.dims[i];
      out.from.back() = copy.from[i];
      out.to.back() = copy.to[i];
    } else {
      out.dims.push_back(copy.dims[i]);
      out.from.push_back(copy.from[i]);
      out.to.push_back(copy.to[i]);
    }
  }
  // The axis along which x is dense goes next to the innermost one, where the kernel tiles the two.
  const size_t n = out.dims.size();
  for (size_t i = 0; i + 2 < n && out.from[n - 1] != 1; ++i) {
    if (out.from[i] != 1) continue;
    for (Ints* list : {&out.dims, &out.from, &out.to}) {
      auto at = list->begin() + static_cast<std::ptrdiff_t>(i);
      std::rotate(at, at + 1, list->end() - 1);
    }
    break;
  }
  return out;
}

bool is_run(const Strided& copy) {
  return copy.dims.empty() || (copy.dims.size() == 1 && copy.from[0] == 1 && copy.to[0] == 1);
}

void move_elements(const Strided& copy, const Tensor& x, Tensor& y) {
  const size_t size = bytes(x.dtype()), rank = copy.dims.size();
  const int64_t total = count(copy.dims);
  const std::byte* from = x.bytes().data();
  std::byte* to = y.mutable_bytes().data();
  int64_t a = copy.from_offset, b = copy.to_offset;
  Ints at(rank, 0);
  for (int64_t n = 0; n < total; ++n) {
    std::memcpy(to + b * static_cast<int64_t>(size), from + a * static_cast<int64_t>(size), size);
    for (size_t d = rank; d-- > 0;) {
      a += copy.from[d];
      b += copy.to[d];
      if (++at[d] < copy.dims[d]) break;
      a -= copy.from[d] * copy.dims[d];
      b -= copy.to[d] * copy.dims[d];
      at[d] = 0;
    }
  }
}

Result<int32_t> param(int64_t value, const Loc& loc) {
  if (value < INT32_MIN || value > INT32_MAX) {
    return error(Code::limit, loc, "a size of {} elements is beyond 32 bits", value);
  }
  return static_cast<int32_t>(value);
}

Result<Ok> call_strided(Lowering& l, const Strided& copy, DType dtype, View from, View to) {
  const int64_t size = static_cast<int64_t>(bytes(dtype));
  const Strided s = simplified(copy);
  const int64_t total = count(s.dims);
  if (total == 0) return Ok{};
  QC_TRY(param(total * size, l.loc()));
  if (is_run(s)) {
    l.copy(part(from, s.from_offset * size, {total}), part(to, s.to_offset * size, {total}),
           total * size);
    return Ok{};
  }
  kernel::Strided params;
  const size_t rank = s.dims.size();
  constexpr size_t kMax = std::size(params.dims);
  if (rank > kMax) {
    return error(Code::unsupported, l.loc(),
                 "moves elements along {} axes, at most {} are possible", rank, kMax);
  }
  std::fill_n(params.dims, kMax, 1);
  std::fill_n(params.xs, kMax, 0);
  std::fill_n(params.ys, kMax, 0);
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = kMax - rank + i;
    QC_ASSIGN(params.dims[at], param(s.dims[i], l.loc()));
    QC_ASSIGN(params.xs[at], param(s.from[i], l.loc()));
    QC_ASSIGN(params.ys[at], param(s.to[i], l.loc()));
  }
  QC_ASSIGN(params.x_offset, param(s.from_offset, l.loc()));
  QC_ASSIGN(params.y_offset, param(s.to_offset, l.loc()));
  params.bytes = std::to_string(size);
  params.x = from;
  params.y = to;
  l.emit(params);
  return Ok{};
}

}  // namespace qc
