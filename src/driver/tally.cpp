#include "driver/tally.h"

#include <fmt/format.h>

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
  if (want.rank() < 1 || want.rank() > 3 || want.shape().back() < 2) return;
  if (!sum) sum.emplace();
  const int64_t width = want.shape().back(), rows = want.size() / width;
  for (int64_t r = 0; r < rows; ++r) sum->same += argmax(got, r, width) == argmax(want, r, width);
  sum->rows += rows;
}

/// -log(softmax(row)[token]).
double surprise(const Tensor& logits, int64_t row, int64_t width, int64_t token) {
  const int64_t from = row * width;
  double most = -HUGE_VAL, sum = 0;
  for (int64_t i = 0; i < width; ++i) most = std::max(most, logits.as_double(from + i));
  for (int64_t i = 0; i < width; ++i) sum += std::exp(logits.as_double(from + i) - most);
  return most + std::log(sum) - logits.as_double(from + token);
}

/// Whether the last axis of the logits scores the token after each of the tokens.
bool are_logits(const Tensor& logits, const Tensor& tokens) {
  const std::vector<int64_t>& shape = logits.shape();
  return tokens.rank() >= 1 && is_float(logits.dtype()) && logits.rank() == tokens.rank() + 1 &&
         std::equal(tokens.shape().begin(), tokens.shape().end(), shape.begin());
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

void Tally::see(const Tensor& got, const Tensor& want, int64_t sample, const Tensor* tokens) {
  const Difference d = compare(got, want, tolerance_);
  Difference& sum = out_.difference;
  if (d.same_type && sum.same_type) {
    if (out_.worst_sample < 0 || d.sqnr_db < out_.worst_sqnr_db) {
      out_.worst_sample = sample;
      out_.worst_sqnr_db = d.sqnr_db;
    }
    add_top1(out_.top1, got, want);
    if (tokens && are_logits(want, *tokens)) {
      if (!out_.perplexity) out_.perplexity.emplace();
      const int64_t width = want.shape().back(), length = tokens->shape().back();
      for (int64_t row = 0; row < tokens->size(); ++row) {
        if ((row + 1) % length == 0) continue;  // nothing follows the last one
        const int64_t next = tokens->as_int(row + 1);
        if (next < 0 || next >= width) continue;  // padding
        nll_got_ += surprise(got, row, width, next);
        nll_want_ += surprise(want, row, width, next);
        ++out_.perplexity->tokens;
      }
    }
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

void Tally::judge(const ValidateOptions& v) {
  const Difference& d = out_.difference;
  const auto miss = [&](std::string text) { out_.failed.push_back(std::move(text)); };
  const bool bars = v.min_sqnr || v.min_top1 || v.max_perplexity;
  const bool given = v.atol || v.rtol;
  const bool tolerances = out_.want == kExpected && (given || !(bars || v.quantized));
  out_.judged = bars || tolerances;
  if (!d.same_type) return miss("its element type or shape is another");
  if (tolerances && !d.within) {
    const std::string atol = fmt::format("{:.3g}", tolerance_.atol);
    const std::string rtol = tolerance_.rtol > 0
                                 ? fmt::format(" + {:g} of the expected magnitude", tolerance_.rtol)
                                 : "";
    miss(fmt::format("{} elements differ by more than {}{}{}; max abs is {:.3g}", d.misses, atol,
                     rtol, v.atol ? "" : ", 1e-4 of the largest expected magnitude", d.max_abs));
  }
  if (v.min_sqnr && !(d.sqnr_db >= *v.min_sqnr))
    miss(fmt::format("SQNR is {:.1f} dB, the bar is {:g} dB", d.sqnr_db, *v.min_sqnr));
  if (v.min_top1 && !out_.top1)
    miss(
        fmt::format("it has no top-1, the bar is {:g} %: its rows are those of outputs of 1 to 3 "
                    "dimensions with at least 2 elements each",
                    *v.min_top1));
  if (v.min_top1 && out_.top1 && out_.top1->percent() < *v.min_top1)
    miss(fmt::format("top-1 is {:.2f} %, the bar is {:g} %", out_.top1->percent(), *v.min_top1));
  if (v.max_perplexity && out_.perplexity && !(out_.perplexity->got <= *v.max_perplexity))
    miss(fmt::format("perplexity is {:.4g}, the bar is {:g}", out_.perplexity->got,
                     *v.max_perplexity));
}

Comparison Tally::finish(const ValidateOptions& v) {
  Difference& d = out_.difference;
  d.sqnr_db = decibels(d.signal, d.noise);
  if (Perplexity* p = out_.perplexity ? &*out_.perplexity : nullptr) {
    const auto count = static_cast<double>(p->tokens);
    p->got = std::exp(nll_got_ / count);
    p->want = std::exp(nll_want_ / count);
  }
  if (out_.want == kInterpreter) {
    if (!d.bits_equal) out_.failed.push_back("bits differ");
  } else {
    judge(v);
  }
  out_.ok = out_.failed.empty();
  return out_;
}

}  // namespace qc
