// Walking the taps of a window, for reference evaluation.
#pragma once

#include <cstdint>
#include <utility>

namespace qc {

/// First and past-the-last tap of an axis that fall inside the input for output position o.
template <class Params>
std::pair<int32_t, int32_t> taps_inside(const Params& p, int axis, int32_t o) {
  int32_t first = 0, last = p.k[axis];
  const int32_t at = o * p.stride[axis] - p.pad[axis];
  while (first < last && at + first * p.dilation[axis] < 0) ++first;
  while (last > first && at + (last - 1) * p.dilation[axis] >= p.in[axis]) --last;
  return {first, last};
}

/// Calls `visit(tap, place)` for every tap inside the input, ascending: its number and where in a
/// channel its element lies.
template <class Params, class F>
void for_each_tap(const Params& p, int32_t od, int32_t oh, int32_t ow, F&& visit) {
  const auto [d0, d1] = taps_inside(p, 0, od);
  const auto [h0, h1] = taps_inside(p, 1, oh);
  const auto [w0, w1] = taps_inside(p, 2, ow);
  for (int32_t kd = d0; kd < d1; ++kd) {
    for (int32_t kh = h0; kh < h1; ++kh) {
      for (int32_t kw = w0; kw < w1; ++kw) {
        const int64_t id = int64_t{od} * p.stride[0] - p.pad[0] + kd * p.dilation[0];
        const int64_t ih = int64_t{oh} * p.stride[1] - p.pad[1] + kh * p.dilation[1];
        const int64_t iw = int64_t{ow} * p.stride[2] - p.pad[2] + kw * p.dilation[2];
        visit((int64_t{kd} * p.k[1] + kh) * p.k[2] + kw, (id * p.in[1] + ih) * p.in[2] + iw);
      }
    }
  }
}

/// The input position tap k of an axis reads for output position o; -1 when there is none.
template <class Params>
int32_t source_of(const Params& p, int axis, int32_t o, int32_t k) {
  const int32_t at = o + p.pad[axis] - k * p.dilation[axis];
  if (at < 0 || at % p.stride[axis] != 0 || at / p.stride[axis] >= p.in[axis]) return -1;
  return at / p.stride[axis];
}

}  // namespace qc
