#include "arrays/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/type.h"

namespace qc {
namespace {

/// 64-bit integers do not all fit a double: compare them as they are first.
bool equal_integers(const Tensor& a, const Tensor& b, int64_t i) {
  return is_integer(a.dtype()) && a.as_int(i) == b.as_int(i);
}

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::fabs(got - want) <= tolerance.atol + tolerance.rtol * std::fabs(want);
}

/// Every element has the same bits, or both are NaN.
bool equal_bits(const Tensor& a, const Tensor& b) {
  if (a.identical(b)) return true;
  if (!is_float(a.dtype())) return false;
  const size_t size = bytes(a.dtype());
  for (int64_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<size_t>(i) * size;
    if (std::memcmp(a.bytes().data() + at, b.bytes().data() + at, size) == 0) continue;
    if (!std::isnan(a.as_double(i)) || !std::isnan(b.as_double(i))) return false;
  }
  return true;
}

}  // namespace

Difference compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  Difference d;
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    d.same_type = d.bits_equal = d.within = false;
    return d;
  }
  d.bits_equal = equal_bits(got, want);
  for (int64_t i = 0; i < want.size(); ++i) {
    double g = got.as_double(i), w = want.as_double(i);
    if (!equal_integers(got, want, i) && !close(g, w, tolerance)) {
      if (d.misses++ == 0) d.worst = i;
      d.within = false;
    }
    if (!std::isfinite(g) || !std::isfinite(w)) continue;
    double apart = std::fabs(g - w);
    d.signal += w * w;
    d.noise += apart * apart;
    d.max_magnitude = std::max(d.max_magnitude, std::fabs(w));
    if (apart > d.max_abs) {
      d.max_abs = apart;
      if (d.misses == 0) d.worst = i;
    }
    if (w != 0) d.max_rel = std::max(d.max_rel, apart / std::fabs(w));
  }
  d.sqnr_db =
      d.noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(d.signal / d.noise);
  return d;
}

std::string describe(const Difference& d, const Tensor& got, const Tensor& want) {
  if (!d.same_type) {
    return fmt::format("{}, expected {}", str(Type(got.dtype(), to_dims(got.shape()))),
                       str(Type(want.dtype(), to_dims(want.shape()))));
  }
  if (d.within) return {};
  return fmt::format("element {} is {}, expected {} ({} of {} elements differ)", d.worst,
                     got.as_double(d.worst), want.as_double(d.worst), d.misses, want.size());
}

}  // namespace qc
