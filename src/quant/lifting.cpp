#include "quant/lifting.h"

#include <algorithm>

namespace qc {
namespace {

Component& each(Format& f, int i) { return i == 0 ? f.scale : f.zero_point; }

/// Static scales and zero points with element i taken from `from(i)` of the old ones; single ones
/// stay.
template <class F>
void take(Format& format, int64_t count, F&& from) {
  for (int c = 0; c < 2; ++c) {
    Component& part = each(format, c);
    if (part.kind != Component::Kind::fixed || part.values.size() == 1) continue;
    Tensor moved(part.values.dtype(), {count});
    for (int64_t i = 0; i < count; ++i) {
      if (is_float(moved.dtype())) {
        moved.set_double(i, part.values.as_double(from(i)));
      } else {
        moved.set_int(i, part.values.as_int(from(i)));
      }
    }
    part.values = std::move(moved);
  }
}

Dim inner_of(const Dims& shape, size_t axis) {
  return product(Dims(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end()));
}

/// The axis of `operand` that has the elements of `axis` of `result`, as far apart; the last one.
std::optional<size_t> same_axis(const Dims& result, size_t axis, const Dims& operand) {
  for (size_t i = operand.size(); i-- > 0;) {
    if (operand[i] == result[axis] && inner_of(operand, i) == inner_of(result, axis)) return i;
  }
  return std::nullopt;
}

/// Runs of `group` elements that follow each other and fill the last axis of both shapes.
bool are_runs(const Dims& shape, size_t axis, int64_t group) {
  return shape[axis].is_static() && inner_of(shape, axis) == Dim(1) &&
         shape[axis].value() % group == 0;
}

std::optional<Format> as_runs(const Format& f, const Dims& result, const Dims& operand) {
  if (f.granularity != Granularity::group || operand.empty()) return std::nullopt;
  const size_t last = operand.size() - 1;
  if (!are_runs(result, static_cast<size_t>(f.axis), f.group) || !are_runs(operand, last, f.group))
    return std::nullopt;
  Format out = f;
  out.axis = static_cast<int64_t>(last);
  return out;
}

/// An axis with static scales that is the outer part of an axis of the operand: each scale holds
/// for several indices there.
std::optional<Format> repeated(const Format& f, const Dims& result, const Dims& operand) {
  const Dim& size = result[static_cast<size_t>(f.axis)];
  if (f.granularity != Granularity::axis || f.is_dynamic() || !size.is_static()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < operand.size(); ++i) {
    if (!operand[i].is_static() || operand[i].value() % size.value() != 0) continue;
    const int64_t times = operand[i].value() / size.value();
    if (!(inner_of(operand, i) * Dim(times) == inner_of(result, static_cast<size_t>(f.axis)))) {
      continue;
    }
    Format out = f;
    out.axis = static_cast<int64_t>(i);
    take(out, operand[i].value(), [&](int64_t at) { return at / times; });
    return out;
  }
  return std::nullopt;
}

}  // namespace

Dims scale_shape(const Format& format, const Dims& shape) {
  if (format.granularity == Granularity::tensor) return {};
  const size_t axis = static_cast<size_t>(format.axis);
  if (format.granularity == Granularity::axis) return {shape[axis]};
  Dims out = shape;
  out[axis] = ceildiv(shape[axis], Dim(format.group));
  return out;
}

Format scales_from(const Format& format, int64_t first, int64_t count) {
  Format out = format;
  take(out, count, [&](int64_t i) { return first + i; });
  return out;
}

Format one_where_equal(const Format& format) {
  if (format.granularity != Granularity::axis || format.is_dynamic()) return format;
  const int64_t count = format.scale.values.size();
  for (int64_t i = 1; i < count; ++i) {
    const bool same = format.scale.values.as_double(i) == format.scale.values.as_double(0) &&
                      format.zero_at(i) == format.zero_at(0);
    if (!same) return format;
  }
  Format out;
  out.qmin = format.qmin;
  out.qmax = format.qmax;
  out.scale = Component::of(Tensor(format.scale.values.dtype(), Ints{}));
  out.scale.values.set_double(0, format.scale.values.as_double(0));
  if (format.zero_at() != 0) {
    const int32_t zeros[] = {format.zero_at()};
    out.zero_point = Component::of(Tensor::of<int32_t>(DType::i32, {}, zeros));
  }
  return out;
}

std::optional<Format> split_scales(const Format& format, const Dims& operand, const Dims& result) {
  const size_t axis = static_cast<size_t>(format.axis);
  const Dim& size = operand[axis];
  if (format.granularity != Granularity::axis || format.is_dynamic() || !size.is_static() ||
      size == Dim(0)) {
    return std::nullopt;
  }
  for (size_t i = result.size(); i-- > 0;) {
    const int64_t parts = result[i].is_static() ? result[i].value() : 0;
    if (parts < 1 || size.value() % parts != 0) continue;
    const int64_t each = size.value() / parts;
    if (!(inner_of(result, i) == inner_of(operand, axis) * Dim(each))) continue;
    Format out = format;
    out.axis = static_cast<int64_t>(i);
    take(out, parts, [&](int64_t at) { return at * each; });
    bool shared = true;
    for (int64_t at = 0; at < size.value() && shared; ++at) {
      shared = out.scale_at(at / each) == format.scale_at(at) &&
               out.zero_at(at / each) == format.zero_at(at);
    }
    if (shared) return one_where_equal(out);
  }
  return std::nullopt;
}

Laid reshaped_scales(const Format& format, const Dims& result, const Dims& operand) {
  if (format.granularity == Granularity::tensor) return {format, {}};
  if (product(result) == Dim(0)) return {{}, kTornApart};
  if (const auto axis = same_axis(result, static_cast<size_t>(format.axis), operand)) {
    Format out = format;
    out.axis = static_cast<int64_t>(*axis);
    return {std::move(out), {}};
  }
  if (auto runs = as_runs(format, result, operand)) return {std::move(runs), {}};
  if (auto wider = repeated(format, result, operand)) return {std::move(wider), {}};
  return {{}, kTornApart};
}

Format transposed_scales(const Format& format, const Dims& result, const Ints& perm) {
  Format out = format;
  if (format.granularity == Granularity::tensor) return out;
  out.axis = perm[static_cast<size_t>(format.axis)];
  const Dims shape = scale_shape(format, result);
  if (format.granularity == Granularity::axis || format.is_dynamic() || !all_static(shape)) {
    return out;
  }
  // Scales of groups are in the order of the result's axes, and get the order of the operand's.
  const Ints sizes = static_dims(shape);
  Ints strides(sizes.size(), 1), extents(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    extents[static_cast<size_t>(perm[i])] = sizes[i];
    count *= sizes[i];
  }
  take(out, count, [&](int64_t at) {
    int64_t from = 0;
    for (size_t i = extents.size(); i-- > 0;) {
      const auto axis = std::find(perm.begin(), perm.end(), static_cast<int64_t>(i)) - perm.begin();
      from += at % extents[i] * strides[static_cast<size_t>(axis)];
      at /= extents[i];
    }
    return from;
  });
  return out;
}

}  // namespace qc
