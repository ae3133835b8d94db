// Import rows of ops that are a few moves one after the other: blocks to channels and back, patches
// to columns and back, diagonals, caches.
#include <algorithm>
#include <numeric>

#include "ops/common/importing.h"
#include "ops/common/indexing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

Result<Value*> padded(const Import& m, Value* x, const Dims& before, const Dims& after) {
  const Dims none(before.size(), Dim(0));
  if (before == none && after == none) return x;
  return m.emit("pad", {x}, {{"before", before}, {"after", after}});
}

Result<Value*> zeros(const Import& m, DType dtype, const Dims& shape) {
  return expanded(m, m.scalar_int(0, dtype), shape);
}

/// reshape, transpose, reshape.
Result<Value*> shuffled(const Import& m, Value* x, const Dims& parts, const Ints& perm,
                        const Dims& shape) {
  QC_ASSIGN(Value * y, reshaped(m, x, parts));
  QC_ASSIGN(y, transposed(m, y, perm));
  return reshaped(m, y, shape);
}

// ---- blocks and channels ----

struct Blocks {
  Dims lead;  // axes before the channels
  Dim channels, height, width;
  Dim side;
};

Result<Blocks> blocks(const Import& m, Value* x, int64_t side) {
  if (x->rank() < 3 || side <= 0 || side > 65536) {
    return m.fail(Code::shape, "blocks of {} by {} in {}", side, side, str(x->type()));
  }
  const Dims& s = x->shape();
  const size_t n = s.size();
  return Blocks{Dims(s.begin(), s.end() - 3), s[n - 3], s[n - 2], s[n - 1], Dim(side)};
}

Dims joined(Dims lead, std::initializer_list<Dim> rest) {
  lead.insert(lead.end(), rest);
  return lead;
}

/// Leading axes in place, then the others in the given order.
Ints behind(size_t lead, std::initializer_list<int64_t> order) {
  Ints perm(lead);
  std::iota(perm.begin(), perm.end(), 0);
  for (int64_t i : order) perm.push_back(static_cast<int64_t>(lead) + i);
  return perm;
}

Result<Values> depth_to_space(const Import& m, Value* x, int64_t side, bool depth_first) {
  QC_ASSIGN(Blocks b, blocks(m, x, side));
  if (b.channels.is_static() && b.channels.value() % (side * side) != 0) {
    return m.fail(Code::shape, "{} channels are not a multiple of {}", b.channels.value(),
                  side * side);
  }
  const Dim depth = floordiv(b.channels, b.side * b.side);
  const Dims shape = joined(b.lead, {depth, b.height * b.side, b.width * b.side});
  if (depth_first) {
    return one(shuffled(m, x, joined(b.lead, {b.side, b.side, depth, b.height, b.width}),
                        behind(b.lead.size(), {2, 3, 0, 4, 1}), shape));
  }
  return one(shuffled(m, x, joined(b.lead, {depth, b.side, b.side, b.height, b.width}),
                      behind(b.lead.size(), {0, 3, 1, 4, 2}), shape));
}

Result<Values> space_to_depth(const Import& m, Value* x, int64_t side, bool depth_first) {
  QC_ASSIGN(Blocks b, blocks(m, x, side));
  for (const Dim& d : {b.height, b.width}) {
    if (d.is_static() && d.value() % side != 0) {
      return m.fail(Code::shape, "{} rows or columns are not a multiple of {}", d.value(), side);
    }
  }
  const Dim rows = floordiv(b.height, b.side), columns = floordiv(b.width, b.side);
  return one(shuffled(
      m, x, joined(b.lead, {b.channels, rows, b.side, columns, b.side}),
      depth_first ? behind(b.lead.size(), {2, 4, 0, 1, 3}) : behind(b.lead.size(), {0, 2, 4, 1, 3}),
      joined(b.lead, {b.channels * b.side * b.side, rows, columns})));
}

Result<Values> onnx_depth_to_space(Import& m) {
  QC_ASSIGN(int64_t side, m.i("blocksize", 1));
  QC_ASSIGN(std::string mode, m.s("mode", "DCR"));
  return depth_to_space(m, m.in(0), side, mode == "DCR");
}

Result<Values> onnx_space_to_depth(Import& m) {
  QC_ASSIGN(int64_t side, m.i("blocksize", 1));
  QC_ASSIGN(std::string mode, m.s("mode", "DCR"));
  return space_to_depth(m, m.in(0), side, mode == "DCR");
}

Result<Values> aten_pixel_shuffle(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t side, m.i("upscale_factor", 1));
  return depth_to_space(m, x, side, false);
}

Result<Values> aten_pixel_unshuffle(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t side, m.i("downscale_factor", 1));
  return space_to_depth(m, x, side, false);
}

Result<Values> aten_channel_shuffle(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t groups, m.i("groups", 1));
  const bool fits = x->rank() >= 2 && groups > 0 &&
                    (!x->shape()[1].is_static() || x->shape()[1].value() % groups == 0);
  if (!fits) return m.fail(Code::shape, "{} groups of channels in {}", groups, str(x->type()));
  Dims parts = x->shape();
  parts[1] = Dim(groups);
  parts.insert(parts.begin() + 2, floordiv(x->shape()[1], Dim(groups)));
  Ints perm(parts.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  return one(shuffled(m, x, parts, perm, x->shape()));
}

/// Each axis cut or padded to a size, about its middle.
Result<Values> onnx_center_crop_pad(Import& m) {
  Value* x = m.in(0);
  QC_ASSIGN(Ints sizes, m.known_static(m.in(1), "the shape"));
  QC_ASSIGN(Ints axes, m.ints("axes", {}));
  if (axes.empty()) {
    for (int64_t i = 0; i < x->rank(); ++i) axes.push_back(i);
  }
  if (axes.size() != sizes.size())
    return m.fail(Code::attribute, "{} sizes for {} axes", sizes.size(), axes.size());
  Dims before(x->shape().size()), after(x->shape().size());
  for (size_t i = 0; i < axes.size(); ++i) {
    QC_ASSIGN(int64_t axis, resolve_axis(axes[i], x->rank(), m.loc()));
    const Dim& extent = x->shape()[static_cast<size_t>(axis)];
    if (!extent.is_static() || sizes[i] < 0)
      return m.fail(Code::dim, "cannot bring axis {} of {} to {}", axis, str(x->shape()), sizes[i]);
    const int64_t more = sizes[i] - extent.value();
    if (more < 0) {
      QC_ASSIGN(x, take(m, x, axis, {Dim(-more / 2), Dim(sizes[i]), Dim(1)}));
    } else {
      before[static_cast<size_t>(axis)] = Dim(more / 2);
      after[static_cast<size_t>(axis)] = Dim(more - more / 2);
    }
  }
  return one(padded(m, x, before, after));
}

// ---- patches and columns ----

struct Patches {
  Ints kernel, dilation, before, after, stride;
};

Result<Ok> check_patches(const Import& m, const Patches& p) {
  const size_t n = p.kernel.size();
  bool fits = n > 0 && p.dilation.size() == n && p.before.size() == n && p.after.size() == n &&
              p.stride.size() == n;
  for (size_t i = 0; fits && i < n; ++i) {
    for (int64_t v : {p.kernel[i], p.dilation[i], p.stride[i]}) fits = fits && v > 0 && v < 65536;
    for (int64_t v : {p.before[i], p.after[i]}) fits = fits && v >= 0 && v < 65536;
  }
  if (!fits)
    return m.fail(Code::attribute, "patches with wrong kernel, dilation, padding or stride");
  return Ok{};
}

Result<Patches> aten_patches(const Import& m) {
  Patches p;
  QC_ASSIGN(p.kernel, m.ints("kernel_size", {}));
  QC_ASSIGN(p.dilation, m.ints("dilation", Ints(p.kernel.size(), 1)));
  QC_ASSIGN(p.before, m.ints("padding", Ints(p.kernel.size(), 0)));
  QC_ASSIGN(p.stride, m.ints("stride", Ints(p.kernel.size(), 1)));
  for (Ints* list : {&p.dilation, &p.before, &p.stride}) {
    if (list->size() == 1) list->resize(p.kernel.size(), list->front());
  }
  p.after = p.before;
  QC_TRY(check_patches(m, p));
  return p;
}

/// How many patches fit along an axis of `extent` elements, pads included.
Dim patches_along(const Patches& p, size_t i, const Dim& extent) {
  return floordiv(extent - Dim(p.dilation[i] * (p.kernel[i] - 1) + 1), Dim(p.stride[i])) + Dim(1);
}

Result<Values> aten_im2col(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Patches p, aten_patches(m));
  const bool batched = x->rank() == 4;
  if (p.kernel.size() != 2 || (x->rank() != 3 && !batched)) {
    return m.fail(Code::shape, "patches of {}", str(x->type()));
  }
  if (!batched) {
    Dims shape = x->shape();
    shape.insert(shape.begin(), Dim(1));
    QC_ASSIGN(x, reshaped(m, x, shape));
  }
  QC_ASSIGN(x, padded(m, x, {0, 0, p.before[0], p.before[1]}, {0, 0, p.after[0], p.after[1]}));
  const Dims s = x->shape();
  const Dim rows = patches_along(p, 0, s[2]), columns = patches_along(p, 1, s[3]);
  const Dims size{s[0], s[1], Dim(p.kernel[0]), Dim(p.kernel[1]), rows, columns};
  const Dims stride{s[1] * s[2] * s[3],        s[2] * s[3],
                    s[3] * Dim(p.dilation[0]), Dim(p.dilation[1]),
                    s[3] * Dim(p.stride[0]),   Dim(p.stride[1])};
  QC_ASSIGN(Value * y, m.emit("as_strided", {x}, {{"size", size}, {"stride", stride}}));
  Dims shape{s[0], s[1] * Dim(p.kernel[0] * p.kernel[1]), rows * columns};
  if (!batched) shape.erase(shape.begin());
  return one(reshaped(m, y, shape));
}

/// Columns [n, channels * kernel, patches] added up where the patches lie in an image.
Result<Value*> fold(const Import& m, Value* x, const Dims& image, const Patches& p) {
  const size_t n = p.kernel.size();
  if (image.size() != n || x->rank() != 3 || !all_static(image) || !all_static(x->shape())) {
    return m.fail(Code::shape, "columns {} into an image of {}", str(x->type()), str(image));
  }
  // The place of every element of a column in the padded image.
  Ints padded, along;
  for (size_t i = 0; i < n; ++i) {
    padded.push_back(image[i].value() + p.before[i] + p.after[i]);
    along.push_back(patches_along(p, i, Dim(padded[i])).value());
    if (along[i] <= 0) return m.fail(Code::shape, "no patch fits into an image of {}", str(image));
  }
  Ints dims = p.kernel;
  dims.insert(dims.end(), along.begin(), along.end());
  QC_TRY(checked_bytes(DType::i64, dims));
  const int64_t taps =
      std::accumulate(p.kernel.begin(), p.kernel.end(), int64_t{1}, std::multiplies<>());
  const int64_t total = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  const Dim cells = product(to_dims(padded)), channels = floordiv(x->shape()[1], Dim(taps));
  if (!(channels * Dim(taps) == x->shape()[1]) || !(x->shape()[2] == Dim(total / taps)) ||
      total > (1 << 26)) {
    return m.fail(Code::shape, "columns {} do not fit an image of {}", str(x->type()), str(image));
  }
  Tensor positions(DType::i64, {total, 1});
  for (int64_t k = 0; k < total; ++k) {
    int64_t rest = k, at = 0, unit = 1;
    Ints index(2 * n);
    for (size_t d = 2 * n; d-- > 0;) {
      index[d] = rest % dims[d];
      rest /= dims[d];
    }
    for (size_t d = n; d-- > 0;) {
      at += (index[d] * p.dilation[d] + index[n + d] * p.stride[d]) * unit;
      unit *= padded[d];
    }
    positions.mutable_data<int64_t>()[k] = at;
  }
  const Dim planes = x->shape()[0] * channels;
  QC_ASSIGN(Value * columns, reshaped(m, x, {planes, Dim(total)}));
  QC_ASSIGN(columns, m.emit("transpose", {columns}, {{"perm", Ints{1, 0}}}));
  QC_ASSIGN(Value * y, zeros(m, x->dtype(), {cells, planes}));
  QC_ASSIGN(y, m.emit("scatter_nd", {y, m.graph().constant(std::move(positions)), columns},
                      {{"reduction", std::string("add")}}));
  QC_ASSIGN(y, m.emit("transpose", {y}, {{"perm", Ints{1, 0}}}));
  Dims shape{x->shape()[0], channels};
  std::vector<Range> inside{{Dim(0), shape[0], Dim(1)}, {Dim(0), shape[1], Dim(1)}};
  for (size_t i = 0; i < n; ++i) {
    shape.push_back(Dim(padded[i]));
    inside.push_back({Dim(p.before[i]), image[i], Dim(1)});
  }
  QC_ASSIGN(y, reshaped(m, y, shape));
  return take(m, y, inside);
}

Result<Values> aten_col2im(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims image, m.dims("output_size"));
  QC_ASSIGN(Patches p, aten_patches(m));
  if (x->rank() == 3) return one(fold(m, x, image, p));
  if (x->rank() != 2) return m.fail(Code::shape, "columns of {}", str(x->type()));
  QC_ASSIGN(x, reshaped(m, x, {Dim(1), x->shape()[0], x->shape()[1]}));
  QC_ASSIGN(Value * y, fold(m, x, image, p));
  return one(reshaped(m, y, Dims(y->shape().begin() + 1, y->shape().end())));
}

Result<Values> onnx_col2im(Import& m) {
  QC_ASSIGN(Dims image, m.known(m.in(1), "the image shape"));
  Patches p;
  QC_ASSIGN(p.kernel, m.known_static(m.in(2), "the block shape"));
  const size_t n = p.kernel.size();
  QC_ASSIGN(p.dilation, m.ints("dilations", Ints(n, 1)));
  QC_ASSIGN(p.stride, m.ints("strides", Ints(n, 1)));
  QC_ASSIGN(Ints pads, m.ints("pads", Ints(2 * n, 0)));
  if (pads.size() != 2 * n) return m.fail(Code::attribute, "{} pads for {} axes", pads.size(), n);
  p.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  p.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  QC_TRY(check_patches(m, p));
  return one(fold(m, m.in(0), image, p));
}

/// Values put back where max pooling found them; flat indices over `planes` planes of `cells`.
Result<Value*> unpooled(const Import& m, Value* x, Value* index, const Dim& planes,
                        const Dim& cells, const Dims& shape) {
  const Dim each = floordiv(product(x->shape()), planes);
  QC_ASSIGN(Value * flat, reshaped(m, x, {planes, each}));
  QC_ASSIGN(index, m.cast(index, DType::i64));
  QC_ASSIGN(index, reshaped(m, index, {planes, each}));
  QC_ASSIGN(Value * y, zeros(m, x->dtype(), {planes, cells}));
  QC_ASSIGN(y, m.emit("scatter_elements", {y, index, flat}, {{"axis", int64_t{1}}}));
  return reshaped(m, y, shape);
}

Result<Values> onnx_max_unpool(Import& m) {
  Value* x = m.in(0);
  QC_ASSIGN(Ints kernel, m.ints("kernel_shape", {}));
  QC_ASSIGN(Ints strides, m.ints("strides", Ints(kernel.size(), 1)));
  QC_ASSIGN(Ints pads, m.ints("pads", Ints(2 * kernel.size(), 0)));
  const size_t n = kernel.size();
  if (x->shape().size() != n + 2 || strides.size() != n || pads.size() != 2 * n) {
    return m.fail(Code::attribute, "a kernel of {} axes for {}", n, str(x->type()));
  }
  Dims shape(x->shape().begin(), x->shape().begin() + 2);
  for (size_t i = 0; i < n; ++i) {
    shape.push_back((x->shape()[i + 2] - Dim(1)) * Dim(strides[i]) - Dim(pads[i] + pads[n + i]) +
                    Dim(kernel[i]));
  }
  QC_ASSIGN(Value * y, unpooled(m, x, m.in(1), Dim(1), product(shape), shape));
  if (!m.has(2)) return Values{y};
  QC_ASSIGN(Dims given, m.known(m.in(2), "the output shape"));
  if (given.size() != shape.size())
    return m.fail(Code::shape, "an output shape of {} axes", given.size());
  Dims after;
  for (size_t i = 0; i < given.size(); ++i) after.push_back(given[i] - shape[i]);
  return one(padded(m, y, Dims(given.size(), Dim(0)), after));
}

Result<Values> aten_max_unpool(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * index, m.tensor("indices"));
  QC_ASSIGN(Dims size, m.dims("output_size"));
  if (x->shape().size() < size.size())
    return m.fail(Code::shape, "cannot unpool {}", str(x->type()));
  Dims shape(x->shape().begin(), x->shape().end() - static_cast<std::ptrdiff_t>(size.size()));
  const Dim planes = product(shape);
  shape.insert(shape.end(), size.begin(), size.end());
  return one(unpooled(m, x, index, planes, product(size), shape));
}

// ---- diagonals, blocks of matrices, products of lists ----

/// The last axis as the k-th diagonal of new square matrices: each element is followed by zeros up
/// to one element past a row, so that the rows come out shifted by one each.
Result<Value*> diagonals(const Import& m, Value* x, int64_t k) {
  const size_t lead = x->shape().size() - 1;
  Dims shape = x->shape();
  if (k < -65536 || k > 65536) return m.fail(Code::attribute, "diagonal {}", k);
  const Dim n = shape.back(), side = n + Dim(k < 0 ? -k : k);
  Dims before(lead + 2), after(lead + 2);
  shape.push_back(Dim(1));
  QC_ASSIGN(Value * y, reshaped(m, x, shape));
  after.back() = side;
  QC_ASSIGN(y, padded(m, y, before, after));
  shape.pop_back();
  shape.back() = n * (side + Dim(1));
  QC_ASSIGN(y, reshaped(m, y, shape));
  // In front of the first element stand k places or -k rows; what follows the last one is cut off
  // or filled up.
  const Dim first = k >= 0 ? Dim(k) : side * Dim(-k), cells = side * side;
  before.pop_back();
  before.back() = first;
  after.assign(lead + 1, Dim(0));
  if (k > 0) after.back() = cells - first - shape.back();
  QC_ASSIGN(y, padded(m, y, before, after));
  if (k <= 0) {
    QC_ASSIGN(y, take(m, y, static_cast<int64_t>(lead), {Dim(0), cells, Dim(1)}));
  }
  shape.back() = side;
  shape.push_back(side);
  return reshaped(m, y, shape);
}

Result<Values> aten_diag_embed(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t k, m.i("offset", 0));
  QC_ASSIGN(int64_t a, m.i("dim1", -2));
  QC_ASSIGN(int64_t b, m.i("dim2", -1));
  const int64_t rank = x->rank() + 1;
  if (x->rank() < 1) return m.fail(Code::shape, "the diagonal of a scalar");
  QC_ASSIGN(a, resolve_axis(a, rank, m.loc()));
  QC_ASSIGN(b, resolve_axis(b, rank, m.loc()));
  if (a == b) return m.fail(Code::attribute, "the diagonal of axis {} with itself", a);
  QC_ASSIGN(Value * y, diagonals(m, x, k));
  Ints perm(static_cast<size_t>(rank), -1);
  perm[static_cast<size_t>(a)] = rank - 2;
  perm[static_cast<size_t>(b)] = rank - 1;
  int64_t next = 0;
  for (int64_t& axis : perm) {
    if (axis < 0) axis = next++;
  }
  return one(transposed(m, y, perm));
}

Result<Values> aten_diag(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t k, m.i("diagonal", 0));
  if (x->rank() == 1) return one(diagonals(m, x, k));
  if (x->rank() != 2 || k < -65536 || k > 65536)
    return m.fail(Code::shape, "diagonal {} of {}", k, str(x->type()));
  const Dim rows = x->shape()[0] + Dim(std::min<int64_t>(k, 0)),
            columns = x->shape()[1] - Dim(std::max<int64_t>(k, 0));
  const Dim start = k >= 0 ? Dim(k) : x->shape()[1] * Dim(-k);
  return one(m.emit("as_strided", {x},
                    {{"size", Dims{min(rows, columns)}},
                     {"stride", Dims{x->shape()[1] + Dim(1)}},
                     {"offset", start}}));
}

Result<Values> aten_block_diag(Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  Dim width(0), at(0);
  for (Value*& v : parts) {
    if (!v || v->rank() > 2) return m.fail(Code::shape, "a block is not a matrix");
    Dims shape = v->shape();
    while (shape.size() < 2) shape.insert(shape.begin(), Dim(1));
    QC_ASSIGN(v, reshaped(m, v, shape));
    width = width + shape[1];
  }
  if (parts.empty()) return m.fail(Code::graph, "joins no tensors");
  for (Value*& v : parts) {
    const Dim own = v->shape()[1];
    QC_ASSIGN(v, padded(m, v, {Dim(0), at}, {Dim(0), width - at - own}));
    at = at + own;
  }
  if (parts.size() == 1) return parts;
  return one(m.emit("concat", parts, {{"axis", int64_t{0}}}));
}

Result<Values> aten_cartesian_prod(Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  Dims shape;
  for (Value* v : parts) {
    if (!v || v->rank() != 1) return m.fail(Code::shape, "cartesian_prod takes vectors");
    shape.push_back(v->shape()[0]);
  }
  if (parts.size() <= 1) return parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims own(parts.size(), Dim(1));
    own[i] = shape[i];
    QC_ASSIGN(parts[i], reshaped(m, parts[i], own));
    QC_ASSIGN(parts[i], expanded(m, parts[i], shape));
    QC_ASSIGN(parts[i], reshaped(m, parts[i], {product(shape), Dim(1)}));
  }
  return one(m.emit("concat", parts, {{"axis", int64_t{1}}}));
}

// ---- caches ----

/// A cache with new entries written along an axis, from each batch row's own place on.
Result<Values> onnx_tensor_scatter(Import& m) {
  Value *cache = m.in(0), *update = m.in(1);
  QC_ASSIGN(int64_t axis, m.i("axis", -2));
  QC_ASSIGN(std::string mode, m.s("mode", "linear"));
  QC_ASSIGN(axis, resolve_axis(axis, cache->rank(), m.loc()));
  if (update->rank() != cache->rank() || axis == 0) {
    return m.fail(Code::shape, "cannot write {} into {}", str(update->type()), str(cache->type()));
  }
  const Dim length = update->shape()[static_cast<size_t>(axis)];
  Dims line(cache->shape().size(), Dim(1)), rows = line;
  line[static_cast<size_t>(axis)] = length;
  rows[0] = cache->shape()[0];
  QC_ASSIGN(Value * index, m.emit("iota", {}, {{"size", length}}));
  QC_ASSIGN(index, reshaped(m, index, line));
  if (m.has(2)) {
    QC_ASSIGN(Value * first, m.cast(m.in(2), DType::i64));
    QC_ASSIGN(first, reshaped(m, first, rows));
    QC_ASSIGN(index, m.emit("add", {first, index}));
  }
  if (mode == "circular") {
    const Dim size = cache->shape()[static_cast<size_t>(axis)];
    QC_ASSIGN(Value * around, m.emit("dims", {}, {{"values", Dims{size}}, {"scalar", true}}));
    QC_ASSIGN(index, m.emit("mod", {index, around}));
  }
  QC_ASSIGN(index, expanded(m, index, update->shape()));
  return one(m.emit("scatter_elements", {cache, index, update}, {{"axis", axis}}));
}

constexpr ImportRow kRows[] = {
    {"", "DepthToSpace", onnx_depth_to_space},
    {"", "SpaceToDepth", onnx_space_to_depth},
    {"", "CenterCropPad", onnx_center_crop_pad},
    {"", "Col2Im", onnx_col2im},
    {"", "MaxUnpool", onnx_max_unpool},
    {"", "TensorScatter", onnx_tensor_scatter},
    {"aten", "pixel_shuffle.default", aten_pixel_shuffle},
    {"aten", "pixel_unshuffle.default", aten_pixel_unshuffle},
    {"aten", "channel_shuffle.default", aten_channel_shuffle},
    {"aten", "native_channel_shuffle.default", aten_channel_shuffle},
    {"aten", "im2col.default", aten_im2col},
    {"aten", "col2im.default", aten_col2im},
    {"aten", "max_unpool2d.default", aten_max_unpool},
    {"aten", "max_unpool3d.default", aten_max_unpool},
    {"aten", "diag_embed.default", aten_diag_embed},
    {"aten", "diag.default", aten_diag},
    {"aten", "block_diag.default", aten_block_diag},
    {"aten", "cartesian_prod.default", aten_cartesian_prod},
};

}  // namespace

void register_rearrange(Registration& r) { r.imports(kRows); }

}  // namespace qc
