// What convolution and transposed convolution check and hand to kernels alike.
#pragma once

#include "ir/node.h"
#include "ops/common/limits.h"
#include "ops/common/macs.h"
#include "ops/common/window.h"

namespace qc {

/// Checks the shapes and groups of any convolution.
inline Result<Ok> check_shapes(const Node& n, int64_t groups) {
  const Type &x = n.input_type(0), &w = n.input_type(1);
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) {
    return error(Code::shape, n.loc(),
                 "convolution needs operands of one rank from 3 to 5, got {} and {}", str(x.shape),
                 str(w.shape));
  }
  for (const Dim& d : w.shape) {
    if (!d.is_static()) return error(Code::dim, n.loc(), "weights of shape {}", str(w.shape));
    if (!fits_window(d.value(), 0))
      return error(Code::limit, n.loc(), "weights of shape {}", str(w.shape));
  }
  if (groups < 1 || groups > INT32_MAX) return error(Code::attribute, n.loc(), "{} groups", groups);
  return Ok{};
}

/// Checks what both kinds of float convolution share: shapes, types, limits.
inline Result<Ok> check_operands(const Node& n, int64_t groups, double lo, double hi) {
  const Type &x = n.input_type(0), &w = n.input_type(1);
  QC_TRY(check_shapes(n, groups));
  if (!is_float(x.dtype) || bits(x.dtype) < 16 || w.dtype != x.dtype) {
    const bool integers = is_integer(x.dtype) && w.dtype == x.dtype;
    return error(integers ? Code::unsupported : Code::type, n.loc(),
                 "convolution of {} values with {} weights", name(x.dtype), name(w.dtype));
  }
  return check_limits(x.dtype, {lo, hi}, n.loc());
}

inline Result<Ok> check_bias(const Node& n, int64_t oc) {
  if (!n.input(2)) return Ok{};
  const Type& b = n.input_type(2);
  if (b.dtype != n.input_type(0).dtype || b.shape != Dims{Dim(oc)}) {
    return error(Code::shape, n.loc(), "bias of {} outputs is {}", oc, str(b));
  }
  return Ok{};
}

/// Multiply-accumulates when every one of `elements` (results of a convolution, operands of a
/// transposed one) meets the weights of one index of axis 0; the largest number beyond 64 bits, 0
/// where a size is not known.
inline int64_t conv_macs(const Node& node, const Dims& elements) {
  const Dims& w = node.input_type(1).shape;
  Dims sizes = elements;
  sizes.insert(sizes.end(), w.begin() + 1, w.end());
  return macs_of(node, sizes);
}

/// The result's shape of a convolution, its window checked.
inline Result<Dims> conv_shape(const Node& n, int64_t groups, const Ints& strides,
                               const Ints& dilations, const Ints& pads) {
  const Dims &x = n.input_type(0).shape, &w = n.input_type(1).shape;
  Ints kernel = static_dims(w);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  const size_t axes = kernel.size();
  QC_TRY(check_window(kernel, strides, dilations, pads, axes, n.loc()));
  const int64_t oc = w[0].value(), icg = w[1].value();
  if (oc % groups != 0) return error(Code::shape, n.loc(), "{} outputs in {} groups", oc, groups);
  if (!(x[1] == Dim(icg * groups))) {
    return error(Code::shape, n.loc(), "weight expects {} input channels, got {}", icg * groups,
                 x[1].str());
  }
  Dims y{x[0], Dim(oc)};
  for (size_t i = 0; i < axes; ++i) {
    QC_ASSIGN(Dim size, window_extent(x[2 + i], kernel[i], strides[i], dilations[i], pads[i],
                                      pads[axes + i], false, n.loc()));
    y.push_back(size);
  }
  return y;
}

/// The same of a transposed convolution.
inline Result<Dims> transposed_shape(const Node& n, int64_t groups, const Ints& strides,
                                     const Ints& dilations, const Ints& pads,
                                     const Ints& output_padding) {
  const Dims &x = n.input_type(0).shape, &w = n.input_type(1).shape;
  Ints kernel = static_dims(w);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  const size_t axes = kernel.size();
  Ints begins = pads;  // an end may be negative: it lengthens the result
  for (int64_t& pad : begins) {
    if (!fits_window(pad < 0 ? -pad : pad, 0))
      return error(Code::attribute, n.loc(), "a pad of {}", pad);
    pad = 0;
  }
  QC_TRY(check_window(kernel, strides, dilations, begins, axes, n.loc()));
  if (output_padding.size() != axes) {
    return error(Code::attribute, n.loc(), "output_padding has {} entries for {} spatial axes",
                 output_padding.size(), axes);
  }
  const int64_t ic = w[0].value(), ocg = w[1].value();
  if (ic % groups != 0 || !(x[1] == Dim(ic))) {
    return error(Code::shape, n.loc(), "weight expects {} input channels in {} groups, got {}", ic,
                 groups, x[1].str());
  }
  Dims y{x[0], Dim(ocg * groups)};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t extra =
        dilations[i] * (kernel[i] - 1) + 1 + output_padding[i] - pads[i] - pads[axes + i];
    if (!fits_window(output_padding[i], 0)) {
      return error(Code::attribute, n.loc(), "an output_padding of {}", output_padding[i]);
    }
    const Dim size = (x[2 + i] - Dim(1)) * Dim(strides[i]) + Dim(extra);
    if (x[2 + i].is_static() &&
        (!fits_window(x[2 + i].value(), 0) || !fits_window(size.value(), 0))) {
      return error(Code::shape, n.loc(), "the result has size {} along axis {}", size.str(), 2 + i);
    }
    y.push_back(size);
  }
  return y;
}

/// Sizes and window of a convolution with the unused leading spatial axes of size 1.
template <class Params>
void fill_window(Params& p, const Dims& in, const Dims& out, const Ints& kernel,
                 const Ints& strides, const Ints& dilations, const Ints& pads) {
  const size_t axes = kernel.size();
  for (size_t i = 0; i < 3; ++i) {
    const bool used = i + axes >= 3;
    const size_t a = used ? i + axes - 3 : 0;
    set_size(p.in[i], used ? in[2 + a] : Dim(1));
    set_size(p.out[i], used ? out[2 + a] : Dim(1));
    p.k[i] = used ? static_cast<int32_t>(kernel[a]) : 1;
    p.stride[i] = used ? static_cast<int32_t>(strides[a]) : 1;
    p.dilation[i] = used ? static_cast<int32_t>(dilations[a]) : 1;
    p.pad[i] = used ? static_cast<int32_t>(pads[a]) : 0;
  }
}

/// Sizes of the taps of weights.
inline Ints spatial(const Dims& w) { return static_dims(Dims(w.begin() + 2, w.end())); }

/// The same with batch, channels and groups of a convolution or a transposed one.
template <class Params, class Window>
void fill_sizes(Params& p, const Window& c, const Dims& x, const Dims& w, const Dims& y) {
  set_size(p.n, x[0]);
  set_size(p.ic, x[1]);
  set_size(p.oc, y[1]);
  p.groups = static_cast<int32_t>(c.groups);
  fill_window(p, x, y, spatial(w), c.strides, c.dilations, c.pads);
}

}  // namespace qc
