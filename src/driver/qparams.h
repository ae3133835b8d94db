// What the codes of a value mean, as numbers: for JSON and for the public API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace qc {

/// How many numbers JSON lists at most for the scales of one value, and as many zero points.
inline constexpr size_t kMostListedScales = 65536;

/// "tensor", "axis" or "group".
std::string_view name(Granularity granularity);
/// How many scales there are; 0 where they are found at run time.
size_t scale_count(const Format& format);
std::vector<double> scales_of(const Format& format);
/// One number, or one for each scale; none where they are found at run time.
std::vector<int64_t> zero_points_of(const Format& format);

/// A JSON object (docs/schema/explain.json, `qparams`); `null` for plain values.
std::string qparams_json(const QType& type);
/// One for each type.
std::string qparams_json(const std::vector<QType>& types);

}  // namespace qc
