#include "ops/common/strided.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "ir/relations.h"
#include "kernels/strided/calls.h"

namespace qc {

namespace {

template <class Size>
std::vector<Size> row_major(const std::vector<Size>& dims) {
  std::vector<Size> out(dims.size());
  Size stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = stride;
    stride = stride * dims[i];
  }
  return out;
}

/// Of numbers, which may be far beyond 64 bits when multiplied.
bool leaves(int64_t extent, const Ints& size, const Ints& stride, int64_t offset) {
  __int128 low = offset, high = offset;
  for (size_t i = 0; i < size.size(); ++i) {
    const __int128 reach = static_cast<__int128>(size[i] - 1) * stride[i];
    (reach < 0 ? low : high) += reach;
  }
  return low < 0 || high >= extent;
}

}  // namespace

bool leaves(const Dim& extent, const Dims& size, const Dims& stride, const Dim& offset) {
  for (const Dim& n : size) {
    if (n == 0) return false;
    if (n.is_static() && n.value() < 0) return true;
  }
  if (extent.is_static() && all_static(size) && all_static(stride) && offset.is_static()) {
    return leaves(extent.value(), static_dims(size), static_dims(stride), offset.value());
  }
  Dim low = offset, high = offset;
  for (size_t i = 0; i < size.size(); ++i) {
    const Dim reach = (size[i] - 1) * stride[i];
    const bool known = stride[i].is_static(), backward = known && stride[i].value() < 0;
    low = low + (known ? (backward ? reach : Dim(0)) : min(reach, 0));
    high = high + (known ? (backward ? Dim(0) : reach) : max(reach, 0));
  }
  return exceeds(0, low) || exceeds(high + 1, extent);
}

Ints strides_of(const Ints& dims) { return row_major(dims); }
Dims strides_of(const Dims& dims) { return row_major(dims); }
Dims strides_of(const Tensor& tensor) { return to_dims(row_major(tensor.shape())); }

Dims strides_of(const Type& type) {
  const Dims physical = strides_of(physical_dims(type));
  Dims out(physical.size());
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

bool is_empty(const Dims& dims) {
  return std::find(dims.begin(), dims.end(), Dim(0)) != dims.end();
}

int64_t typical(const Dim& size) {
  if (size.is_static()) return size.value();
  constexpr int64_t kUsual = 64;
  std::set<std::string> symbols;
  size.collect_symbols(symbols);
  Bindings all;
  for (const std::string& symbol : symbols) all[symbol] = kUsual;
  return size.substitute(all).value();
}

Type moved(const Type& x, Dims shape) {
  Type y(x.dtype, std::move(shape));
  if (y.rank() == x.rank()) y.layout = x.layout;
  if (x.format && x.format->granularity == Granularity::tensor) y.format = x.format;
  return y;
}

Strided simplified(Strided copy) {
  if (is_empty(copy.dims)) return {{0}, {1}, {1}, 0, 0};
  std::vector<std::pair<int64_t, size_t>> order;  // by the stride of y, the largest first
  for (size_t i = 0; i < copy.dims.size(); ++i) {
    if (!(copy.dims[i] == 1)) order.emplace_back(-std::abs(typical(copy.to[i])), i);
  }
  std::sort(order.begin(), order.end());
  Strided out{{}, {}, {}, copy.from_offset, copy.to_offset};
  for (const auto& [stride, i] : order) {
    if (!out.dims.empty() && out.from.back() == copy.from[i] * copy.dims[i] &&
        out.to.back() == copy.to[i] * copy.dims[i]) {
      out.dims.back() = out.dims.back() * copy.dims[i];
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
  for (size_t i = 0; i + 2 < n && !(out.from[n - 1] == 1); ++i) {
    if (!(out.from[i] == 1)) continue;
    for (Dims* list : {&out.dims, &out.from, &out.to}) {
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
  const Ints dims = static_dims(copy.dims), xs = static_dims(copy.from), ys = static_dims(copy.to);
  const int64_t total = count(dims);
  const std::byte* from = x.bytes().data();
  std::byte* to = y.mutable_bytes().data();
  int64_t a = copy.from_offset.value(), b = copy.to_offset.value();
  Ints at(rank, 0);
  for (int64_t n = 0; n < total; ++n) {
    std::memcpy(to + b * static_cast<int64_t>(size), from + a * static_cast<int64_t>(size), size);
    for (size_t d = rank; d-- > 0;) {
      a += xs[d];
      b += ys[d];
      if (++at[d] < dims[d]) break;
      a -= xs[d] * dims[d];
      b -= ys[d] * dims[d];
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
  const Dim size = static_cast<int64_t>(bytes(dtype));
  const Strided s = simplified(copy);
  const Dim total = product(s.dims);
  if (total == 0) return Ok{};
  QC_TRY(l.param(total * size));
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
    params.dims[at] = s.dims[i];
    params.xs[at] = s.from[i];
    params.ys[at] = s.to[i];
  }
  params.x_offset = s.from_offset;
  params.y_offset = s.to_offset;
  params.bytes = size.str();
  params.x = from;
  params.y = to;
  l.emit(params);
  return Ok{};
}

}  // namespace qc
