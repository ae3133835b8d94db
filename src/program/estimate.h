// Costs of variants: estimated nanoseconds of a call on the machine that the target stands for
// (src/target/facts.h). They are for choosing: between variants of a kernel only their order
// counts.
#pragma once

#include "program/variant.h"

namespace qc {

/// What of a machine bounds a body's multiply-accumulates.
enum class Peak : uint8_t {
  scalar,  // one lane of f32: loops that do not vectorise
  f32,
  i16,
  i8,
  tensor,
};

/// 10^9 multiply-accumulates a second.
double peak_gmacs(const Facts& facts, Peak peak);
/// The same of bodies for all machines. On a device a thread computes each unit of theirs, so that
/// threads of a warp read far from each other and a lane's share of the rate is left.
double portable_gmacs(const Target& target, Peak peak);

/// Nanoseconds of a call at a rate, and of moving its operands and results once.
double estimate(const Call& call, const Binder& binder, double gmacs);

/// How much more work a body has that computes `lanes` of n outputs at once.
inline double padding(int64_t n, int64_t lanes) {
  const auto whole = static_cast<double>((n + lanes - 1) / lanes * lanes);
  return n > 0 ? whole / static_cast<double>(n) : 1;
}

/// Costs of rows: a body reaches so many per cent of a peak in long loops.
template <Peak peak, int percent>
double at_peak(const Call& call, const Binder& binder) {
  return estimate(call, binder, peak_gmacs(binder.target().facts, peak) * percent / 100);
}
/// The same of bodies for all machines.
template <Peak peak, int percent>
double portable_at_peak(const Call& call, const Binder& binder) {
  return estimate(call, binder, portable_gmacs(binder.target(), peak) * percent / 100);
}
/// Of kernels that move or convert what they read: their few operations are hidden.
inline double moving(const Call& call, const Binder& binder) {
  return at_peak<Peak::f32, 100>(call, binder);
}

/// "12.3 us": of nanoseconds, three digits.
std::string shown_duration(double nanoseconds);

}  // namespace qc
