// Sizes and windows of convolutions as evaluations walk them.
#pragma once

#include "ops/conv/operands.h"

namespace qc {

/// The sizes of a convolution with three spatial axes; those that it does not have come first and
/// have one element and one tap.
struct ConvSizes {
  int32_t n = 0, ic = 0, oc = 0, groups = 1;
  int32_t in[3], out[3], k[3], stride[3], dilation[3], pad[3];
  int64_t valid[3];  // elements from these on count as outside

  template <class Window>
  ConvSizes(const Window& c, const Dims& x, const Dims& w, const Dims& y) {
    fill_sizes(*this, c, x, w, y);
    leave_out({});
  }
  /// Elements of the last axes that count as outside.
  void leave_out(const Dims& from) {
    for (size_t i = 0; i < 3; ++i)
      valid[i] = i + from.size() >= 3 ? std::min<int64_t>(from[i + from.size() - 3].value(), in[i])
                                      : in[i];
  }
  int64_t in_group() const { return ic / groups; }
  int64_t out_group() const { return oc / groups; }
  int64_t taps() const { return int64_t{k[0]} * k[1] * k[2]; }
  int64_t in_volume() const { return int64_t{in[0]} * in[1] * in[2]; }
  int64_t out_volume() const { return int64_t{out[0]} * out[1] * out[2]; }
};

/// Where in a channel of the input a tap reads for the result at `place` of a channel; -1 where
/// that is padding.
inline int64_t read_by(const ConvSizes& p, int64_t position, int64_t tap) {
  const int64_t at[] = {position / p.out[2] / p.out[1], position / p.out[2] % p.out[1],
                        position % p.out[2]};
  const int64_t k[] = {tap / p.k[2] / p.k[1], tap / p.k[2] % p.k[1], tap % p.k[2]};
  int64_t from = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t i = at[axis] * p.stride[axis] - p.pad[axis] + k[axis] * p.dilation[axis];
    if (i < 0 || i >= p.valid[axis]) return -1;
    from = from * p.in[axis] + i;
  }
  return from;
}

/// The same of a transposed convolution, which reads where a step of its stride ends.
inline int64_t read_by_transposed(const ConvSizes& p, int64_t position, int64_t tap) {
  const int64_t at[] = {position / p.out[2] / p.out[1], position / p.out[2] % p.out[1],
                        position % p.out[2]};
  const int64_t k[] = {tap / p.k[2] / p.k[1], tap / p.k[2] % p.k[1], tap % p.k[2]};
  int64_t from = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t i = at[axis] + p.pad[axis] - k[axis] * p.dilation[axis];
    if (i < 0 || i % p.stride[axis] != 0 || i / p.stride[axis] >= p.in[axis]) return -1;
    from = from * p.in[axis] + i / p.stride[axis];
  }
  return from;
}

/// A tap that reads an element of the input: its number in the window, and where in a channel.
struct Tap {
  int64_t number, position;
};
/// The taps of the result at `place`, ascending.
inline std::vector<Tap> taps_at(const ConvSizes& p, int64_t position) {
  std::vector<Tap> taps;
  for (int64_t tap = 0; tap < p.taps(); ++tap) {
    if (const int64_t from = read_by(p, position, tap); from >= 0) taps.push_back({tap, from});
  }
  return taps;
}

}  // namespace qc
