#include "ir/type.h"

#include <fmt/format.h>

namespace qc {

bool Type::operator==(const Type& other) const {
  if (dtype != other.dtype || layout != other.layout || shape != other.shape) return false;
  if (format == other.format) return true;
  return format && other.format && *format == *other.format;
}

std::string str(const Type& type) {
  std::string out = std::string(name(type.dtype)) + str(type.shape);
  if (type.layout == Layout::channels_last) out += " nhwc";
  if (type.format) {
    const Format& f = *type.format;
    out += fmt::format(" q({}, {}", f.qmin, f.qmax);
    if (f.granularity == Granularity::axis) out += fmt::format(", axis={}", f.axis);
    if (f.granularity == Granularity::group)
      out += fmt::format(", axis={}, group={}", f.axis, f.group);
    for (const Component& c : f.components) {
      out += fmt::format(", {}={} {}", c.role, name(c.dtype),
                         c.is_static ? "@" + std::to_string(c.constant) : "carried");
    }
    out += fmt::format(", {})", f.arithmetic);
  }
  return out;
}

Result<int64_t> resolve_axis(int64_t axis, int64_t rank, const Loc& loc) {
  if (axis < -rank || axis >= rank) {
    return error(Code::attribute, loc, "axis {} is out of range for rank {}", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Result<Dims> broadcast(const Dims& a, const Dims& b, const Loc& loc) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim da = i < rank - a.size() ? Dim(1) : a[i - (rank - a.size())];
    const Dim db = i < rank - b.size() ? Dim(1) : b[i - (rank - b.size())];
    if (da == db || db == Dim(1)) {
      out[i] = da;
    } else if (da == Dim(1)) {
      out[i] = db;
    } else if (!da.is_static() || !db.is_static()) {
      // One side is symbolic and not provably one: the other side decides, and the symbol is
      // checked against it when it is bound.
      out[i] = da.is_static() ? da : db;
    } else {
      return error(Code::shape, loc, "shapes {} and {} do not broadcast", str(a), str(b));
    }
  }
  return out;
}

}  // namespace qc
