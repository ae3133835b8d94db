#include "driver/qparams.h"

#include <fmt/format.h>

#include "support/escape.h"
#include "support/json_text.h"

namespace qc {
namespace {

/// As many digits as it takes to read the same number again.
template <class T>
std::string json_list(const std::vector<T>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace

std::string_view name(Granularity granularity) {
  constexpr std::string_view kNames[] = {"tensor", "axis", "group"};
  return kNames[static_cast<size_t>(granularity)];
}

size_t scale_count(const Format& format) {
  return format.is_dynamic() ? 0 : static_cast<size_t>(format.scale.values.size());
}

std::vector<double> scales_of(const Format& format) {
  std::vector<double> out(scale_count(format));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = format.scale.values.as_double(static_cast<int64_t>(i));
  return out;
}

std::vector<int64_t> zero_points_of(const Format& format) {
  if (format.zero_point.kind == Component::Kind::none) return {0};
  if (format.zero_point.kind == Component::Kind::dynamic) return {};
  std::vector<int64_t> out(static_cast<size_t>(format.zero_point.values.size()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = format.zero_point.values.as_int(static_cast<int64_t>(i));
  return out;
}

std::string qparams_json(const QType& type) {
  if (!type.format) return "null";
  const Format& f = *type.format;
  const bool shared = f.granularity == Granularity::tensor;
  const bool listed = scale_count(f) <= kMostListedScales;
  return JsonObject()
      .add("dtype", json_string(name(type.dtype)))
      .add("qmin", json_number(f.qmin))
      .add("qmax", json_number(f.qmax))
      .add("granularity", json_string(name(f.granularity)))
      .add("axis", shared ? "null" : json_number(f.axis))
      .add("group", f.granularity == Granularity::group ? json_number(f.group) : "null")
      .add("dynamic", json_bool(f.is_dynamic()))
      .add("count", json_number(static_cast<int64_t>(scale_count(f))))
      .add("scale", listed ? json_list(scales_of(f)) : "null")
      .add("zero_point", listed ? json_list(zero_points_of(f)) : "null")
      .line();
}

std::string qparams_json(const std::vector<QType>& types) {
  std::vector<std::string> out;
  for (const QType& type : types) out.push_back(qparams_json(type));
  return json_array(out);
}

}  // namespace qc
