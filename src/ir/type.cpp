#include "ir/type.h"

#include <fmt/format.h>

#include "ir/relations.h"
#include "ir/text_reader.h"

namespace qc {

namespace {

bool same(const std::shared_ptr<const Format>& a, const std::shared_ptr<const Format>& b) {
  return a == b || (a && b && *a == *b);
}

std::string component_text(const Component& c) {
  if (c.kind == Component::Kind::dynamic) return "dynamic";
  const bool wide = c.values.dtype() == DType::f64;
  if (c.values.rank() > 0) return (wide ? "f64 " : "") + elements_text(c.values);
  if (wide) return "f64 " + float_text(c.values.as_double(0));
  return is_float(c.values.dtype()) ? float_text(static_cast<float>(c.values.as_double(0)))
                                    : std::to_string(c.values.as_int(0));
}

std::string format_text(const Format& f) {
  std::string out = fmt::format(" q({}, {}", f.qmin, f.qmax);
  if (f.granularity != Granularity::tensor) out += fmt::format(", axis={}", f.axis);
  if (f.granularity == Granularity::group) out += fmt::format(", group={}", f.group);
  if (f.scale.kind != Component::Kind::none) out += ", scale=" + component_text(f.scale);
  if (f.zero_point.kind != Component::Kind::none) out += ", zero=" + component_text(f.zero_point);
  return out + ")";
}

}  // namespace

float Format::scale_at(int64_t i) const {
  return static_cast<float>(scale.values.as_double(scale.values.size() == 1 ? 0 : i));
}

int32_t Format::zero_at(int64_t i) const {
  if (zero_point.kind != Component::Kind::fixed) return 0;
  return zero_point.values.data<int32_t>()[zero_point.values.size() == 1 ? 0 : i];
}

bool QType::operator==(const QType& other) const {
  return dtype == other.dtype && same(format, other.format);
}

Type::Type() = default;
Type::Type(DType d, Dims s) : shape(std::move(s)), dtype(d) {}
Type::Type(QType q, Dims s) : shape(std::move(s)), format(std::move(q.format)), dtype(q.dtype) {}
Type::Type(const Type&) = default;
Type::Type(Type&&) noexcept = default;
Type& Type::operator=(const Type&) = default;
Type& Type::operator=(Type&&) noexcept = default;
Type::~Type() = default;

bool Type::operator==(const Type& other) const {
  return dtype == other.dtype && layout == other.layout && shape == other.shape &&
         same(format, other.format);
}

std::string str(const Type& type) {
  std::string out = std::string(name(type.dtype)) + str(type.shape);
  if (type.layout == Layout::channels_last) out += " nhwc";
  if (type.format) out += format_text(*type.format);
  return out;
}

std::string str(const QType& type) {
  return std::string(name(type.dtype)) + (type.format ? format_text(*type.format) : "");
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
      // One side is symbolic and not provably one: the other side decides, and is to be equal.
      differ(da, db);
      out[i] = da.is_static() ? da : db;
    } else {
      return error(Code::shape, loc, "shapes {} and {} do not broadcast", str(a), str(b));
    }
  }
  return out;
}

}  // namespace qc
