// Sliding windows: what convolutions and pools share when they are imported and inferred.
#pragma once

#include <algorithm>

#include "frontends/common/foreign.h"
#include "support/checked.h"

namespace qc {

/// A size in a struct of numbers, for evaluation, or of sizes that may be free, for calls.
template <class Size>
void set_size(Size& to, const Dim& size) {
  if constexpr (std::is_same_v<Size, Dim>) {
    to = size;
  } else {
    to = static_cast<Size>(size.value());
  }
}

/// Steps of a window over the spatial axes; `pads` are all begins, then all ends.
struct Window {
  Ints kernel, strides, dilations, pads;
};

/// A list with one entry per axis; a single number stands for all axes.
inline Result<Ints> per_axis(const Import& m, std::string_view name, int64_t fallback,
                             size_t axes) {
  QC_ASSIGN(Ints list, m.ints(name, {}));
  if (list.empty()) list.assign(axes, fallback);
  if (list.size() == 1) list.assign(axes, list[0]);
  if (list.size() != axes) {
    return m.fail(Code::attribute, "{} has {} entries for {} spatial axes", name, list.size(),
                  axes);
  }
  return list;
}

/// Numbers that keep index arithmetic of kernels within 32 bits.
inline bool fits_window(int64_t v, int64_t least) { return v >= least && v < (int64_t{1} << 30); }

/// Checks the lists of a window against the number of spatial axes.
inline Result<Ok> check_window(const Ints& kernel, const Ints& strides, const Ints& dilations,
                               const Ints& pads, size_t axes, const Loc& loc) {
  if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes ||
      pads.size() != 2 * axes) {
    return error(
        Code::attribute, loc,
        "{} spatial axes need as many strides and dilations and twice as many pads, got {}, "
        "{}, {}",
        axes, strides.size(), dilations.size(), pads.size());
  }
  for (size_t i = 0; i < axes; ++i) {
    if (!fits_window(strides[i], 1) || !fits_window(dilations[i], 1) ||
        !fits_window(kernel[i], 1) || !fits_window(pads[i], 0) || !fits_window(pads[axes + i], 0) ||
        !fits_window(dilations[i] * (kernel[i] - 1), 0)) {
      return error(Code::attribute, loc,
                   "axis {}: kernel {}, stride {}, dilation {}, pads {} and {} are not a window", i,
                   kernel[i], strides[i], dilations[i], pads[i], pads[axes + i]);
    }
  }
  return Ok{};
}

/// How many positions a window takes along one axis.
inline Result<Dim> window_extent(const Dim& in, int64_t kernel, int64_t stride, int64_t dilation,
                                 int64_t begin, int64_t end, bool ceil, const Loc& loc) {
  const Dim room = in + Dim(begin + end - dilation * (kernel - 1) - 1);
  if (!in.is_static()) {
    if (ceil && stride > 1) {
      return error(Code::dim, loc, "a pool with ceil_mode needs known sizes, got {}", in.str());
    }
    return floordiv(room, Dim(stride)) + Dim(1);
  }
  if (!fits_window(in.value(), 0)) {
    return error(Code::limit, loc, "a spatial size of {} is too large", in.value());
  }
  // With ceil_mode the only window may reach beyond the end.
  const int64_t rounding = ceil ? stride - 1 : 0;
  if (room.value() + rounding < 0) {
    return error(Code::shape, loc, "a window of {} does not fit a size of {} with pads {} and {}",
                 dilation * (kernel - 1) + 1, in.value(), begin, end);
  }
  int64_t out = (room.value() + rounding) / stride + 1;
  if (ceil && (out - 1) * stride >= in.value() + begin) --out;  // starts in the end padding
  return Dim(out);
}

/// Strides, dilations and pads of an ONNX window op, auto_pad resolved for the sizes of `x`.
inline Result<Window> onnx_window(const Import& m, const Value* x, Ints kernel) {
  const size_t axes = kernel.size();
  Window w;
  QC_ASSIGN(w.strides, per_axis(m, "strides", 1, axes));
  QC_ASSIGN(w.dilations, per_axis(m, "dilations", 1, axes));
  QC_ASSIGN(w.pads, m.ints("pads", {}));
  QC_ASSIGN(std::string automatic, m.s("auto_pad", "NOTSET"));
  w.kernel = std::move(kernel);
  if (w.pads.empty()) w.pads.assign(2 * axes, 0);
  if (automatic != "NOTSET" && automatic != "") w.pads.assign(2 * axes, 0);
  QC_TRY(check_window(w.kernel, w.strides, w.dilations, w.pads, axes, m.loc()));
  if (automatic == "NOTSET" || automatic == "" || automatic == "VALID") return w;
  if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER") {
    return m.fail(Code::attribute, "auto_pad is '{}'", automatic);
  }
  for (size_t i = 0; i < axes; ++i) {
    const int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1, s = w.strides[i];
    int64_t total = std::max<int64_t>(reach - 1, 0);
    if (s > 1) {
      const Dim& size = x->shape()[2 + i];
      if (!size.is_static()) {
        return m.fail(Code::dim, "auto_pad with stride {} needs a known size, got {}", s,
                      size.str());
      }
      if (!fits_window(size.value(), 0))
        return m.fail(Code::limit, "a size of {} is too large", size.value());
      total = std::max<int64_t>(((size.value() + s - 1) / s - 1) * s + reach - size.value(), 0);
    }
    w.pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[axes + i] = total - w.pads[i];
  }
  return w;
}

}  // namespace qc
