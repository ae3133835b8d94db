#include "driver/tally.h"

#include <algorithm>
#include <cmath>

namespace qc {
namespace {

/// The place of the first largest element of a row; NaN is never the largest.
int64_t argmax(const Tensor& t, int64_t row, int64_t width) {
  int64_t best = -1;
  for (int64_t i = row * width; i < (row + 1) * width; ++i) {
    if (std::isnan(t.as_double(i))) continue;
    if (best < 0 || t.as_double(i) > t.as_double(best)) best = i;
  }
  return best;
}

void add_top1(std::optional<Top1>& sum, const Tensor& got, const Tensor& want) {
  if (want.rank() < 1 || want.rank() > 2 || want.shape().back() < 2) return;
  if (!sum) sum.emplace();
  const int64_t width = want.shape().back(), rows = want.size() / width;
  for (int64_t r = 0; r < rows; ++r) sum->same += argmax(got, r, width) == argmax(want, r, width);
  sum->rows += rows;
}

double decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

}  // namespace

double largest(const Tensor& tensor) {
  double out = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = std::fabs(tensor.as_double(i));
    if (std::isfinite(x)) out = std::max(out, x);
  }
  return out;
}

Tally::Tally(std::string got, std::string want, std::string output, const Tolerance& tolerance)
    : tolerance_(tolerance) {
  out_.got = std::move(got);
  out_.want = std::move(want);
  out_.output = std::move(output);
}

void Tally::see(const Tensor& got, const Tensor& want, int64_t sample) {
  const Difference d = compare(got, want, tolerance_);
  Difference& sum = out_.difference;
  if (d.same_type && sum.same_type) {
    if (out_.worst_sample < 0 || d.sqnr_db < out_.worst_sqnr_db) {
      out_.worst_sample = sample;
      out_.worst_sqnr_db = d.sqnr_db;
    }
    add_top1(out_.top1, got, want);
  } else if (sum.same_type) {
    out_.worst_sample = sample;
  }
  ++out_.samples;
  sum.same_type = sum.same_type && d.same_type;
  sum.bits_equal = sum.bits_equal && d.bits_equal;
  sum.within = sum.within && d.within;
  sum.max_abs = std::max(sum.max_abs, d.max_abs);
  sum.max_rel = std::max(sum.max_rel, d.max_rel);
  sum.max_magnitude = std::max(sum.max_magnitude, d.max_magnitude);
  sum.misses += d.misses;
  sum.signal += d.signal;
  sum.noise += d.noise;
}

Comparison Tally::finish(const ValidateOptions& v) {
  Difference& d = out_.difference;
  d.sqnr_db = decibels(d.signal, d.noise);
  if (out_.want == kInterpreter) {
    out_.ok = d.bits_equal;
    return out_;
  }
  const bool bars = v.min_sqnr || v.min_top1;
  const bool tolerances = out_.want == kExpected && (v.atol || v.rtol || !bars);
  out_.judged = bars || tolerances;
  out_.ok = d.same_type;
  if (tolerances) out_.ok = out_.ok && d.within;
  if (v.min_sqnr) out_.ok = out_.ok && d.sqnr_db >= *v.min_sqnr;
  if (v.min_top1) out_.ok = out_.ok && out_.top1 && out_.top1->percent() >= *v.min_top1;
  return out_;
}

}  // namespace qc
