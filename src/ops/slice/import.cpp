#include <algorithm>

#include "frontends/common/require.h"
#include "ir/strides.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/slice/slice.h"

namespace qc {
namespace {

std::vector<Range> whole(const Value* x) {
  std::vector<Range> ranges;
  for (const Dim& d : x->shape()) ranges.push_back({Dim(0), d, Dim(1)});
  return ranges;
}

Result<Values> single(Result<Value*> value) {
  QC_ASSIGN(Value * v, std::move(value));
  return Values{v};
}

/// `x` cut along `axis` into parts of the given sizes.
Result<Values> split(const Import& m, Value* x, int64_t axis, const Dims& sizes) {
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dim& extent = x->shape()[static_cast<size_t>(axis)];
  Dim at(0);
  Values out;
  for (const Dim& size : sizes) {
    if (size.is_static() && size.value() < 0)
      return m.fail(Code::attribute, "a part has size {}", size.value());
    QC_ASSIGN(Value * slice, take(m, x, axis, {at, size, Dim(1)}));
    out.push_back(slice);
    at = at + size;
  }
  if (!require(m.graph(), {at, DimGuard::Op::eq, extent})) {
    return m.fail(Code::shape, "parts of sizes {} do not make up an axis of size {}", str(sizes),
                  extent.str());
  }
  return out;
}

/// Parts of `size` elements, the last one smaller where they do not fit evenly.
Result<Dims> even_parts(const Import& m, const Dim& extent, const Dim& size) {
  if (size == extent) return Dims{extent};
  if (!extent.is_static() || !size.is_static()) {
    return m.fail(Code::dim, "cannot cut an axis of size {} into parts of {} before it is bound",
                  extent.str(), size.str());
  }
  const int64_t total = extent.value(), slice = size.value();
  if (slice <= 0 && total > 0) return m.fail(Code::attribute, "parts have size {}", slice);
  if (slice > 0 && total / slice > 65536)
    return m.fail(Code::limit, "cuts into {} parts", total / slice);
  Dims out;
  for (int64_t at = 0; at < total; at += slice) out.push_back(Dim(std::min(slice, total - at)));
  if (out.empty()) out.push_back(Dim(0));
  return out;
}

/// `count` parts of ceil(extent / count) elements, of which the last are smaller or empty where the
/// axis does not divide evenly.
Dims ceil_parts(const Dim& extent, int64_t count) {
  const Dim size = ceildiv(extent, Dim(count));
  if (size * Dim(count) == extent) return Dims(static_cast<size_t>(count), size);
  Dims out{size};
  Dim at = size;  // at most the extent: one part fits always
  for (int64_t i = 2; i <= count; ++i) {
    const Dim end = i == count ? extent : min(size * Dim(i), extent);
    out.push_back(end - at);
    at = end;
  }
  return out;
}

Result<Values> onnx_slice_ranges(const Import& m, const Dims& starts, const Dims& ends, Ints axes,
                                 Ints steps) {
  Value* x = m.in(0);
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return m.fail(Code::attribute, "{} starts, {} ends, {} axes and {} steps", starts.size(),
                  ends.size(), axes.size(), steps.size());
  }
  std::vector<Range> ranges = whole(x);
  for (size_t i = 0; i < starts.size(); ++i) {
    QC_ASSIGN(int64_t axis, resolve_axis(axes[i], x->rank(), m.loc()));
    const Dim& extent = x->shape()[static_cast<size_t>(axis)];
    QC_ASSIGN(ranges[static_cast<size_t>(axis)],
              resolve_range(m, extent, starts[i], ends[i], steps[i]));
  }
  return single(take(m, x, ranges));
}

Result<Values> onnx_slice_attributes(Import& m) {
  QC_ASSIGN(Ints starts, m.ints("starts", {}));
  QC_ASSIGN(Ints ends, m.ints("ends", {}));
  QC_ASSIGN(Ints axes, m.ints("axes", {}));
  return onnx_slice_ranges(m, to_dims(starts), to_dims(ends), axes, {});
}

Result<Values> onnx_slice(Import& m) {
  if (!m.has(1) || !m.has(2)) return m.fail(Code::graph, "starts or ends are missing");
  QC_ASSIGN(Dims starts, m.known(m.in(1), "starts"));
  QC_ASSIGN(Dims ends, m.known(m.in(2), "ends"));
  Ints axes, steps;
  if (m.has(3)) {
    QC_ASSIGN(axes, m.known_static(m.in(3), "axes"));
  }
  if (m.has(4)) {
    QC_ASSIGN(steps, m.known_static(m.in(4), "steps"));
  }
  return onnx_slice_ranges(m, starts, ends, axes, steps);
}

Result<Values> onnx_split(Import& m) {
  Value* x = m.in(0);
  QC_ASSIGN(int64_t axis, m.i("axis", 0));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dim& extent = x->shape()[static_cast<size_t>(axis)];
  if (m.has(1)) {
    QC_ASSIGN(Dims sizes, m.known(m.in(1), "split"));
    return split(m, x, axis, sizes);
  }
  QC_ASSIGN(Ints sizes, m.ints("split", {}));
  if (!sizes.empty()) return split(m, x, axis, to_dims(sizes));
  QC_ASSIGN(int64_t parts, m.i("num_outputs", static_cast<int64_t>(m.node().outputs)));
  if (parts <= 0 || parts > 65536) return m.fail(Code::attribute, "splits into {} parts", parts);
  return split(m, x, axis, ceil_parts(extent, parts));
}

struct AxisOf {
  Value* x;
  int64_t axis;
  Dim extent;
};

Result<AxisOf> self_axis(const Import& m, int64_t fallback = 0) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", fallback));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  return AxisOf{x, axis, x->shape()[static_cast<size_t>(axis)]};
}

Result<std::optional<Dim>> bound(const Import& m, std::string_view name) {
  if (!m.given(name)) return std::optional<Dim>();
  QC_ASSIGN(Dim d, m.dim(name, Dim(0)));
  return std::optional<Dim>(d);
}

Result<Values> aten_slice(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  QC_ASSIGN(auto start, bound(m, "start"));
  QC_ASSIGN(auto end, bound(m, "end"));
  QC_ASSIGN(int64_t step, m.i("step", 1));
  QC_ASSIGN(Range range, resolve_range(m, a.extent, start, end, step));
  return single(take(m, a.x, a.axis, range));
}

Result<Value*> select(const Import& m, Value* x, int64_t axis, const Range& at) {
  QC_ASSIGN(Value * y, take(m, x, axis, at));
  Dims shape = y->shape();
  shape.erase(shape.begin() + axis);
  return reshaped(m, y, shape);
}

Result<Values> aten_select(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  // An index computed at run time.
  if (const Arg* arg = m.find("index"); arg && std::holds_alternative<Value*>(*arg)) {
    QC_ASSIGN(Value * at, m.tensor_as("index", DType::i64));
    QC_ASSIGN(at, reshaped(m, at, {}));
    return single(m.emit("gather", {a.x, at}, {{"axis", a.axis}}));
  }
  QC_ASSIGN(Dim index, m.dim("index", Dim(0)));
  QC_ASSIGN(Range at, resolve_index(m, a.extent, index));
  return single(select(m, a.x, a.axis, at));
}

Result<Values> aten_narrow(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  QC_ASSIGN(Dim start, m.dim("start", Dim(0)));
  QC_ASSIGN(Dim length, m.dim("length", Dim(0)));
  if (start.is_static() && start.value() < 0) start = start + a.extent;
  return single(take(m, a.x, a.axis, {start, length, Dim(1)}));
}

Result<Values> aten_split(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  QC_ASSIGN(Dim size, m.dim("split_size", Dim(0)));
  QC_ASSIGN(Dims sizes, even_parts(m, a.extent, size));
  return split(m, a.x, a.axis, sizes);
}

Result<Values> aten_split_sizes(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  QC_ASSIGN(Dims sizes, m.dims(m.given("split_sizes") ? "split_sizes" : "split_size"));
  return split(m, a.x, a.axis, sizes);
}

Result<Values> aten_chunk(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  QC_ASSIGN(int64_t parts, m.i("chunks", 1));
  if (parts <= 0 || parts > 65536) return m.fail(Code::attribute, "{} chunks", parts);
  if (!a.extent.is_static()) {
    // The file says how many chunks there were; other sizes may make fewer.
    const auto count = static_cast<int64_t>(m.node().outputs);
    if (count < 1 || count > parts) return m.fail(Code::shape, "{} of {} chunks", count, parts);
    const Dim size = ceildiv(a.extent, Dim(parts));
    const Dim last = a.extent - size * Dim(count - 1);
    if (!require(m.graph(), {last, DimGuard::Op::ge, Dim(1)}) ||
        !require(m.graph(), {last, DimGuard::Op::le, size})) {
      return m.fail(Code::shape, "an axis of size {} makes no {} chunks", a.extent.str(), count);
    }
    Dims sizes(static_cast<size_t>(count), size);
    sizes.back() = last;
    return split(m, a.x, a.axis, sizes);
  }
  QC_ASSIGN(Dims sizes, even_parts(m, a.extent, max(ceildiv(a.extent, parts), Dim(1))));
  if (a.extent == Dim(0)) sizes.assign(static_cast<size_t>(std::min<int64_t>(parts, 4096)), Dim(0));
  return split(m, a.x, a.axis, sizes);
}

Result<Values> aten_tensor_split(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  if (m.given("indices")) {
    QC_ASSIGN(Ints cuts, m.ints("indices", {}));
    Values out;
    std::optional<Dim> from;
    cuts.push_back(INT64_MAX);
    for (int64_t cut : cuts) {
      QC_ASSIGN(Range range, resolve_range(m, a.extent, from, Dim(cut), 1));
      QC_ASSIGN(Value * slice, take(m, a.x, a.axis, range));
      out.push_back(slice);
      from = Dim(cut);
    }
    return out;
  }
  QC_ASSIGN(int64_t parts, m.i("sections", 1));
  if (parts <= 0 || parts > 65536) return m.fail(Code::attribute, "{} sections", parts);
  Dims sizes;
  for (int64_t i = 0; i < parts; ++i) {
    const Dim base = floordiv(a.extent, Dim(parts));
    const bool even = base * Dim(parts) == a.extent;
    sizes.push_back(even ? base : floordiv(a.extent + Dim(parts - 1 - i), Dim(parts)));
  }
  return split(m, a.x, a.axis, sizes);
}

Result<Values> aten_unbind(Import& m) {
  QC_ASSIGN(AxisOf a, self_axis(m));
  if (!a.extent.is_static())
    return m.fail(Code::dim, "unbind of an axis of unknown size {}", a.extent.str());
  if (a.extent.value() > 65536)
    return m.fail(Code::limit, "unbind of an axis of size {}", a.extent.value());
  Values out;
  for (int64_t i = 0; i < a.extent.value(); ++i) {
    QC_ASSIGN(Value * slice, select(m, a.x, a.axis, {Dim(i), Dim(1), Dim(1)}));
    out.push_back(slice);
  }
  return out;
}

Result<Value*> flipped(const Import& m, Value* x, const Ints& axes) {
  std::vector<Range> ranges = whole(x);
  for (int64_t axis : axes) {
    QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
    const Dim& extent = x->shape()[static_cast<size_t>(axis)];
    if (extent == Dim(0) || extent == Dim(1)) continue;
    ranges[static_cast<size_t>(axis)] = {extent - Dim(1), extent, Dim(-1)};
  }
  return take(m, x, ranges);
}

Result<Values> aten_flip(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Ints dims, m.ints("dims", {}));
  return single(flipped(m, x, dims));
}

Result<Values> aten_fliplr(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return single(flipped(m, x, {1}));
}

Result<Values> aten_flipud(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return single(flipped(m, x, {0}));
}

Result<Values> aten_rot90(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t k, m.i("k", 1));
  QC_ASSIGN(Ints dims, m.ints("dims", {0, 1}));
  if (dims.size() != 2) return m.fail(Code::attribute, "rotates in {} axes", dims.size());
  QC_ASSIGN(int64_t a, resolve_axis(dims[0], x->rank(), m.loc()));
  QC_ASSIGN(int64_t b, resolve_axis(dims[1], x->rank(), m.loc()));
  k = ((k % 4) + 4) % 4;
  if (k == 2) return single(flipped(m, x, {a, b}));
  if (k == 0) return Values{x};
  QC_ASSIGN(x, flipped(m, x, {k == 1 ? b : a}));
  Ints perm;
  for (int64_t i = 0; i < x->rank(); ++i) perm.push_back(i == a ? b : i == b ? a : i);
  return single(m.emit("transpose", {x}, {{"perm", perm}}));
}

/// The elements of x moved by `shift` along `axis`, around the end.
Result<Value*> rolled(const Import& m, Value* x, int64_t axis, int64_t shift) {
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dim& extent = x->shape()[static_cast<size_t>(axis)];
  if (extent == Dim(0)) return x;
  const Dim cut = mod(Dim(0) - Dim(shift), extent);
  if (cut == Dim(0)) return x;
  QC_ASSIGN(Value * head, take(m, x, axis, {Dim(0), cut, Dim(1)}));
  QC_ASSIGN(Value * tail, take(m, x, axis, {cut, extent - cut, Dim(1)}));
  return m.emit("concat", {tail, head}, {{"axis", axis}});
}

Result<Values> aten_roll(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Ints shifts, m.ints("shifts", {}));
  QC_ASSIGN(Ints dims, m.ints("dims", {}));
  if (dims.empty() && shifts.size() == 1) {
    QC_ASSIGN(Value * flat, reshaped(m, x, {product(x->shape())}));
    QC_ASSIGN(flat, rolled(m, flat, 0, shifts[0]));
    return single(reshaped(m, flat, x->shape()));
  }
  if (dims.size() != shifts.size()) {
    return m.fail(Code::attribute, "{} shifts for {} axes", shifts.size(), dims.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    QC_ASSIGN(x, rolled(m, x, dims[i], shifts[i]));
  }
  return Values{x};
}

Result<Values> aten_diagonal(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t offset, m.i("offset", 0));
  QC_ASSIGN(int64_t a, m.i("dim1", 0));
  QC_ASSIGN(int64_t b, m.i("dim2", 1));
  QC_ASSIGN(a, resolve_axis(a, x->rank(), m.loc()));
  QC_ASSIGN(b, resolve_axis(b, x->rank(), m.loc()));
  if (a == b) return m.fail(Code::attribute, "the diagonal of axis {} with itself", a);
  Dims size = x->shape(), stride = dense_strides(size);
  const size_t ai = static_cast<size_t>(a), bi = static_cast<size_t>(b);
  const Dim rows = offset < 0 ? size[ai] + Dim(offset) : size[ai];
  const Dim columns = offset > 0 ? size[bi] - Dim(offset) : size[bi];
  Dim length = min(rows, columns);
  if (length.is_static() && length.value() < 0) length = Dim(0);
  const Dim start = offset >= 0 ? stride[bi] * Dim(offset) : stride[ai] * (Dim(0) - Dim(offset));
  const Dim step = stride[ai] + stride[bi];
  for (size_t i : {std::max(ai, bi), std::min(ai, bi)}) {
    size.erase(size.begin() + static_cast<std::ptrdiff_t>(i));
    stride.erase(stride.begin() + static_cast<std::ptrdiff_t>(i));
  }
  size.push_back(length);
  stride.push_back(step);
  return single(
      m.emit("as_strided", {x},
             {{"size", size}, {"stride", stride}, {"offset", length == Dim(0) ? Dim(0) : start}}));
}

/// The sum of the main diagonal.
Result<Values> aten_trace(Import& m) {
  QC_ASSIGN(Values diagonal, aten_diagonal(m));
  const DType type = diagonal[0]->dtype();
  QC_ASSIGN(Value * x, m.cast(diagonal[0], is_float(type) ? type : DType::i64));
  return single(m.emit("reduce_sum", {x}, {{"axes", Ints{-1}}, {"keepdims", false}}));
}

/// Overlapping windows of `size` elements every `step` along one axis, as a new last axis.
Result<Values> aten_unfold(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dimension", 0));
  QC_ASSIGN(int64_t window, m.i("size", 1));
  QC_ASSIGN(int64_t step, m.i("step", 1));
  if (x->rank() == 0) return single(reshaped(m, x, {Dim(1)}));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  if (window < 0 || step <= 0) return m.fail(Code::attribute, "windows of {} by {}", window, step);
  Dims size = x->shape(), stride = dense_strides(size);
  Dim& extent = size[static_cast<size_t>(axis)];
  if (extent.is_static() && extent.value() < window) {
    return m.fail(Code::shape, "windows of {} in an axis of size {}", window, extent.value());
  }
  extent = floordiv(extent - Dim(window), Dim(step)) + Dim(1);
  size.push_back(Dim(window));
  stride.push_back(stride[static_cast<size_t>(axis)]);
  stride[static_cast<size_t>(axis)] = stride[static_cast<size_t>(axis)] * Dim(step);
  return single(m.emit("as_strided", {x}, {{"size", size}, {"stride", stride}}));
}

/// The operand is the storage itself, or a tensor that lies in it row by row from its start: other
/// tensors are replaced by their storage before.
Result<Values> aten_as_strided(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims size, m.dims("size"));
  QC_ASSIGN(Dims stride, m.dims("stride"));
  QC_ASSIGN(Dim offset, m.dim("storage_offset", Dim(0)));
  if (stride == dense_strides(size) && offset == Dim(0) && product(size) == product(x->shape())) {
    return single(reshaped(m, x, size));
  }
  return single(
      m.emit("as_strided", {x}, {{"size", size}, {"stride", stride}, {"offset", offset}}));
}

constexpr ImportRow kRows[] = {
    {"", "Slice", onnx_slice_attributes},
    {"", "Slice", onnx_slice, 10},
    {"", "Split", onnx_split},
    {"aten", "slice.Tensor", aten_slice, 1, Alias::view},
    {"aten", "slice_copy.Tensor", aten_slice},
    {"aten", "select.int", aten_select, 1, Alias::view},
    {"aten", "select_copy.int", aten_select},
    {"aten", "narrow.default", aten_narrow, 1, Alias::view},
    {"aten", "narrow_copy.default", aten_narrow},
    {"aten", "split.Tensor", aten_split, 1, Alias::view},
    {"aten", "split.sizes", aten_split_sizes, 1, Alias::view},
    {"aten", "split_with_sizes.default", aten_split_sizes, 1, Alias::view},
    {"aten", "split_with_sizes_copy.default", aten_split_sizes},
    {"aten", "chunk.default", aten_chunk, 1, Alias::view},
    {"aten", "tensor_split.sections", aten_tensor_split, 1, Alias::view},
    {"aten", "tensor_split.indices", aten_tensor_split, 1, Alias::view},
    {"aten", "unbind.int", aten_unbind, 1, Alias::view},
    {"aten", "unbind_copy.int", aten_unbind},
    {"aten", "flip.default", aten_flip},
    {"aten", "fliplr.default", aten_fliplr},
    {"aten", "flipud.default", aten_flipud},
    {"aten", "rot90.default", aten_rot90},
    {"aten", "roll.default", aten_roll},
    {"aten", "diagonal.default", aten_diagonal, 1, Alias::view},
    {"aten", "diagonal_copy.default", aten_diagonal},
    {"aten", "trace.default", aten_trace},
    {"aten", "unfold.default", aten_unfold, 1, Alias::view},
    {"aten", "unfold_copy.default", aten_unfold},
    {"aten", "as_strided.default", aten_as_strided, 1, Alias::view},
    {"aten", "as_strided_copy.default", aten_as_strided},
};

}  // namespace

void register_slice(Registration& r) {
  r.op<Slice>();
  r.op<AsStrided>();
  r.imports(kRows);
}

}  // namespace qc
