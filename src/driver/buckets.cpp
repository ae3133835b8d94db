#include "driver/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "passes/pad_to_buckets.h"
#include "support/file.h"

namespace qc {
namespace {

constexpr size_t kMostBuckets = 32;
constexpr size_t kMostCandidates = 512;  // sizes among which buckets are chosen

Result<int64_t> macs_at(const Graph& graph, Bindings sizes, const std::string& symbol,
                        int64_t size) {
  sizes[symbol] = size;
  QC_ASSIGN(auto bound, copy(graph));
  bound->guards.clear();
  QC_TRY(bound->bind(sizes));
  int64_t sum = 0;
  for (const Node* n = bound->first(); n; n = n->next()) sum += n->macs();
  return sum;
}

/// Multiply-accumulates at any size of a dimension, others being at their smallest. Products of
/// networks grow with its first or second power, so three sizes tell all. Where a graph has no
/// products, or does not take the smallest sizes of all dimensions together, it is the size itself.
std::function<double(int64_t)> work_of(const Graph& graph, const std::string& symbol,
                                       const quantc::Options& options) {
  const auto size_itself = [](int64_t size) { return static_cast<double>(size); };
  Bindings others;
  for (const auto& [name, range] : options.ranges) others[name] = range.min;
  const quantc::SizeRange& range = options.ranges.at(symbol);
  const int64_t middle = range.min + (range.max - range.min) / range.step / 2 * range.step;
  double x[3] = {static_cast<double>(range.min), static_cast<double>(middle),
                 static_cast<double>(range.max)};
  double y[3] = {};
  for (int i = 0; i < 3; ++i) {
    const auto macs = macs_at(graph, others, symbol, static_cast<int64_t>(x[i]));
    if (!macs.ok()) return size_itself;
    y[i] = static_cast<double>(*macs);
  }
  if (y[2] <= 0 || middle == range.min || middle == range.max) return size_itself;
  // Newton's form of the parabola through the three points.
  const double slope = (y[1] - y[0]) / (x[1] - x[0]);
  const double bend = ((y[2] - y[1]) / (x[2] - x[1]) - slope) / (x[2] - x[0]);
  return [=](int64_t size) {
    const double at = static_cast<double>(size);
    return y[0] + (at - x[0]) * (slope + (at - x[1]) * bend);
  };
}

/// Whole numbers between spaces or commas.
Result<std::vector<int64_t>> read_observed(const std::string& symbol,
                                           const quantc::SizeRange& range) {
  QC_ASSIGN(const std::string text, read_text(range.observed));
  const Loc loc{range.observed, {}, {}};
  std::vector<int64_t> out;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    if (std::string_view(" \t\r\n,").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    int64_t size = 0;
    const auto [stop, bad] = std::from_chars(at, end, size);
    if (bad != std::errc()) {
      return error(Code::format, loc, "sizes of '{}' are whole numbers between spaces or commas",
                   symbol);
    }
    if (size < range.min || size > range.max) {
      return error(Code::dim, loc, "size {} is outside the range {} to {} of '{}'", size, range.min,
                   range.max, symbol);
    }
    out.push_back(size);
    at = stop;
  }
  if (out.empty()) return error(Code::format, loc, "there are no sizes of '{}' in it", symbol);
  return out;
}

/// "seq: buckets 16 (x1.12), 64 (x1.48)": what each computes over what its sizes need, all alike.
std::string cost_text(const std::string& symbol, const quantc::SizeRange& range,
                      const std::vector<int64_t>& buckets,
                      const std::function<double(int64_t)>& work) {
  std::string out;
  double all_padded = 0, all_needed = 0;
  int64_t size = range.min;
  for (int64_t bucket : buckets) {
    double padded = 0, needed = 0;
    for (; size <= bucket; size += range.step) {
      padded += work(bucket);
      needed += work(size);
    }
    all_padded += padded;
    all_needed += needed;
    out += fmt::format("{}{} (x{:.2f})", out.empty() ? "" : ", ", bucket,
                       needed > 0 ? padded / needed : 1.0);
  }
  return fmt::format(
      "pad_to_buckets: '{}' is padded to {}: multiply-accumulates over those needed if all sizes "
      "are as frequent, "
      "x{:.2f} together",
      symbol, out, all_needed > 0 ? all_padded / all_needed : 1.0);
}

}  // namespace

Result<Ok> check_buckets(const std::string& symbol, const quantc::SizeRange& range) {
  if (range.chosen_buckets < 0 || range.chosen_buckets > static_cast<int64_t>(kMostBuckets) ||
      range.buckets.size() > kMostBuckets) {
    return error(Code::usage, "dimension '{}' can have 1 to {} buckets", symbol, kMostBuckets);
  }
  if ((range.chosen_buckets > 0) != !range.observed.empty())
    return error(Code::usage,
                 "buckets of '{}' are chosen from a file of sizes as they occur: write "
                 "buckets=auto@FILE or buckets=auto,COUNT@FILE",
                 symbol);
  if (range.buckets.empty()) return Ok{};
  const bool ascend = std::adjacent_find(range.buckets.begin(), range.buckets.end(),
                                         std::greater_equal<>()) == range.buckets.end();
  if (ascend && range.buckets.front() >= range.min && range.buckets.back() == range.max &&
      range.buckets.front() > 0)
    return Ok{};
  return error(Code::usage,
               "buckets {} of dimension '{}' must ascend from {} or more to {}, the largest size",
               fmt::join(range.buckets, ","), symbol, std::max<int64_t>(range.min, 1), range.max);
}

std::vector<int64_t> choose_buckets(std::vector<int64_t> observed, int64_t max, int64_t count,
                                    const std::function<double(int64_t)>& work) {
  std::sort(observed.begin(), observed.end());
  // Candidates with how many sizes are at most each: all that occur, or evenly many apart.
  std::vector<int64_t> sizes, upto;
  const size_t apart = observed.size() / kMostCandidates + 1;
  for (size_t i = 0; i < observed.size(); ++i) {
    const bool last = i + 1 == observed.size();
    if (!last && (observed[i] == observed[i + 1] || (i + 1) % apart != 0)) continue;
    sizes.push_back(observed[i]);
    upto.push_back(static_cast<int64_t>(i) + 1);
  }
  if (sizes.back() != max) {
    sizes.push_back(max);
    upto.push_back(upto.back());
  }
  // cost[i] is the least for sizes up to candidate i, which is a bucket, with the buckets so far.
  const size_t n = sizes.size();
  std::vector<double> cost(n);
  for (size_t i = 0; i < n; ++i) cost[i] = static_cast<double>(upto[i]) * work(sizes[i]);
  std::vector<std::vector<size_t>> before(1, std::vector<size_t>(n, n));
  for (int64_t k = 1; k < count; ++k) {
    std::vector<double> next = cost;
    std::vector<size_t> from(n, n);
    for (size_t i = 0; i < n; ++i) {
      from[i] = i;  // no further bucket
      for (size_t j = 0; j < i; ++j) {
        const double more = cost[j] + static_cast<double>(upto[i] - upto[j]) * work(sizes[i]);
        if (more < next[i]) {
          next[i] = more;
          from[i] = j;
        }
      }
    }
    cost = std::move(next);
    before.push_back(std::move(from));
  }
  std::vector<int64_t> out{sizes[n - 1]};
  size_t at = n - 1;
  for (size_t k = before.size(); k-- > 1;) {
    if (before[k][at] == at) continue;
    at = before[k][at];
    out.insert(out.begin(), sizes[at]);
  }
  return out;
}

Result<std::map<std::string, PassContext::Buckets>> buckets_of(const Graph& graph,
                                                               const quantc::Options& options,
                                                               PassContext& context) {
  std::map<std::string, PassContext::Buckets> out;
  for (const auto& [symbol, range] : options.ranges) {
    if (range.buckets.empty() && range.chosen_buckets == 0) continue;
    const auto work = work_of(graph, symbol, options);
    std::vector<int64_t> buckets = range.buckets;
    if (range.chosen_buckets > 0) {
      QC_ASSIGN(std::vector<int64_t> observed, read_observed(symbol, range));
      buckets = choose_buckets(std::move(observed), range.max, range.chosen_buckets, work);
    }
    context.remarks.push_back(cost_text(symbol, range, buckets, work));
    out[symbol] = {std::move(buckets), range.own_size};
  }
  return out;
}

Result<Ok> note_padding(const Graph& graph, const quantc::Options& options, PassContext& context) {
  PassContext padding;
  QC_ASSIGN(padding.buckets, buckets_of(graph, options, context));
  if (padding.buckets.empty()) return Ok{};
  QC_ASSIGN(const std::unique_ptr<Graph> copied, copy(graph));
  std::vector<std::string> found;
  if (const Result<bool> padded = pad_to_buckets(*copied, padding); !padded.ok()) {
    found = {padded.diag().text};
    found.insert(found.end(), padded.diag().notes.begin(), padded.diag().notes.end());
  }
  for (const auto* lines : {&padding.remarks, &padding.warnings, &found}) {
    for (const std::string& line : *lines) context.remarks.push_back("pad_to_buckets: " + line);
  }
  return Ok{};
}

}  // namespace qc
