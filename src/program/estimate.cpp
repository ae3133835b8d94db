#include "program/estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace qc {
namespace {

/// Of a view at the largest sizes. More than a machine has counts as what it could have, so that
/// the time of the work is not lost in rounding.
double bytes_of(const View& view, const Binder& binder) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!view.present()) return 0;
  return static_cast<double>(std::clamp<int64_t>(binder.largest(extent(view)), 0, kMost));
}

}  // namespace

double peak_gmacs(const Facts& facts, Peak peak) {
  switch (peak) {
    case Peak::scalar:
      return facts.f32_gmacs / facts.lanes();
    case Peak::f32:
      return facts.f32_gmacs;
    case Peak::i16:
      return facts.i16_gmacs;
    case Peak::i8:
      return facts.i8_gmacs;
    case Peak::tensor:
      return facts.tensor_gmacs;
  }
  return 0;
}

double portable_gmacs(const Target& target, Peak peak) {
  if (!target.device) return peak_gmacs(target.facts, peak);
  // Loops that compilers vectorise elsewhere still read an operand once for several products.
  constexpr double kReuse = 8;
  const double lane = target.facts.f32_gmacs / target.facts.lanes();
  return peak == Peak::scalar ? lane / kReuse : lane;
}

double estimate(const Call& call, const Binder& binder, double gmacs) {
  double bytes = 0;
  for (const View& view : call.in) bytes += bytes_of(view, binder);
  for (const View& view : call.out) bytes += bytes_of(view, binder);
  // Work that is not known counts as little, so that rates still decide.
  const auto macs = static_cast<double>(std::max<int64_t>(call.macs, 1));
  return macs / gmacs + bytes / binder.target().facts.memory_gbs;
}

std::string shown_duration(double nanoseconds) {
  const char* const units[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (unit + 1 < std::size(units) && nanoseconds >= 999.5) {
    nanoseconds /= 1000;
    ++unit;
  }
  const int decimals = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", nanoseconds, decimals, units[unit]);
}

}  // namespace qc
