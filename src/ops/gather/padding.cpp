#include <algorithm>

#include "ops/gather/gather.h"

namespace qc {

/// Padding among the indices picks something that is padding again. Padding of the axis that is
/// picked from is left alone by indices that are known and count from its start.
Result<Ok> Gather::pad(PaddedNode& c) {
  const int64_t at = c.resolved(axis);
  if (c.is_padded(0, at)) {
    const auto known = known_ints(c.operands()[1]);
    const bool from_start = known && std::all_of(known->begin(), known->end(), [](const Dim& d) {
                              return d.is_static() && d.value() >= 0;
                            });
    if (!from_start) return c.refuse("its indices may count from the end");
  }
  Padding to(c.padding(0).begin(), c.padding(0).begin() + at);
  to.insert(to.end(), c.padding(1).begin(), c.padding(1).end());
  to.insert(to.end(), c.padding(0).begin() + at + 1, c.padding(0).end());
  c.set_result(std::move(to));
  return Ok{};
}

/// Each element is picked by itself; data and indices go together along the other axes.
Result<Ok> GatherElements::pad(PaddedNode& c) {
  for (int64_t i = 0; i < std::ssize(c.shape(0)); ++i) {
    if (i == axis && c.is_padded(0, i)) return c.refuse("its indices may count from the end");
    if (i != axis && c.parts(0, i) != c.parts(1, i))
      return c.refuse("its operands are padded differently");
  }
  c.set_result(c.padding(1));
  return Ok{};
}

}  // namespace qc
