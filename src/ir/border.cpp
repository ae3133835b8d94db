#include "ir/border.h"

namespace qc {

std::optional<Ints> pads_with(const Ints& pads, const Border& border) {
  constexpr int64_t kMost = 1 << 20;
  const size_t rank = border.before.size();
  if (rank < 2 || pads.size() != 2 * (rank - 2)) return std::nullopt;
  Ints out = pads;
  for (size_t axis = 0; axis < rank; ++axis) {
    for (const bool end : {false, true}) {
      const Dim& pad = (end ? border.after : border.before)[axis];
      if (!pad.is_static() || pad.value() < 0 || pad.value() > kMost) return std::nullopt;
      if (axis < 2 && pad.value() != 0) return std::nullopt;
      if (axis >= 2) out[axis - 2 + (end ? rank - 2 : 0)] += pad.value();
    }
  }
  return out;
}

}  // namespace qc
