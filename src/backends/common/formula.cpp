#include "backends/common/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "backends/common/text.h"

namespace qc {
namespace {

using Numbers = std::span<const int64_t>;

/// f(sizes[i]) == values[i] for all i.
template <class F>
bool matches(Numbers sizes, Numbers values, F&& f) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (f(sizes[i]) != values[i]) return false;
  }
  return true;
}

/// "3 * n - 2" from factors of powers of n, lowest first; values fit because tables of them do.
std::string polynomial(std::initializer_list<int64_t> factors) {
  std::string out;
  int power = 0;
  for (int64_t f : factors) {
    const char* const symbols[] = {"", "n", "n * n"};
    const std::string symbol = symbols[power++];
    if (f == 0) continue;
    std::string term = symbol.empty() ? std::to_string(f)
                       : f == 1       ? symbol
                                      : fmt::format("{} * {}", f, symbol);
    if (!out.empty()) {
      const bool negative = out.starts_with("-");
      term.append(negative ? " - " : " + ").append(out, negative ? 1 : 0);
    }
    out = std::move(term);
  }
  return out.empty() ? "0" : out;
}

std::optional<std::string> fit_polynomial(Numbers s, Numbers v) {
  if (matches(s, v, [&](int64_t) { return v[0]; })) return polynomial({v[0]});
  const int64_t slope = (v[1] - v[0]) / (s[1] - s[0]), start = v[0] - slope * s[0];
  if (matches(s, v, [&](int64_t n) { return start + slope * n; }))
    return polynomial({start, slope});
  if (s.size() < 4) return std::nullopt;
  // Divided differences; a second degree needs a fourth point to be worth trusting.
  const int64_t d01 = v[1] - v[0], d12 = v[2] - v[1], w = s[2] - s[0];
  const int64_t h1 = s[1] - s[0], h2 = s[2] - s[1];
  const int64_t top = d12 * h1 - d01 * h2, bottom = h1 * h2 * w;
  if (top % bottom != 0) return std::nullopt;
  // Beyond these bounds products with sizes, which are at most 2^16, might overflow.
  constexpr int64_t kMaxSquare = int64_t{1} << 24, kMaxSlope = int64_t{1} << 40;
  if (std::abs(top / bottom) > kMaxSquare) return std::nullopt;
  const int64_t c = top / bottom, rest = d01 - c * (s[1] * s[1] - s[0] * s[0]);
  if (rest % h1 != 0 || std::abs(rest / h1) > kMaxSlope) return std::nullopt;
  const int64_t b = rest / h1, a = v[0] - b * s[0] - c * s[0] * s[0];
  if (!matches(s, v, [&](int64_t n) { return a + b * n + c * n * n; })) return std::nullopt;
  return polynomial({a, b, c});
}

/// a + b * ((n + shift) / by): sizes after strides and pools.
std::optional<std::string> fit_quotient(Numbers s, Numbers v) {
  for (int64_t by = 2; by <= 64; ++by) {
    const auto next = std::find(s.begin(), s.end(), s[0] + by);
    if (next == s.end()) return std::nullopt;
    const int64_t b = v[static_cast<size_t>(next - s.begin())] - v[0];
    for (int64_t shift = 0; shift < by; ++shift) {
      const int64_t a = v[0] - b * ((s[0] + shift) / by);
      if (!matches(s, v, [&](int64_t n) { return a + b * ((n + shift) / by); })) continue;
      const std::string sum = shift == 0 ? "n" : fmt::format("(n + {})", shift);
      const std::string quotient = fmt::format("{} / {}", sum, by);
      const std::string product = b == 1 ? quotient : fmt::format("{} * ({})", b, quotient);
      return a == 0 ? product : fmt::format("{} {} {}", product, a < 0 ? '-' : '+', a < 0 ? -a : a);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Formulas::integer(Numbers sizes, Numbers values) {
  if (sizes.size() < 2) return polynomial({values[0]});
  if (auto text = fit_polynomial(sizes, values)) return *text;
  if (auto text = fit_quotient(sizes, values)) return *text;
  return table(sizes, values);
}

std::string Formulas::table(Numbers sizes, Numbers values) {
  std::vector<std::string> rows;
  for (int64_t v : values) rows.push_back(std::to_string(v));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return table(*low < INT32_MIN || *high > INT32_MAX ? "int64_t" : "int32_t", sizes, rows);
}

std::string Formulas::real(Numbers sizes, std::span<const float> values) {
  std::vector<std::string> rows;
  for (float v : values) rows.push_back(c_float(v));
  return table("float", sizes, rows);
}

std::string Formulas::table(const char* type, Numbers sizes,
                            const std::vector<std::string>& values) {
  // Sizes the model refuses have a place too, so that n alone is the index.
  std::string text = "{";
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t gap = i == 0 ? sizes[0] : sizes[i - 1] + 1; gap < sizes[i]; ++gap) text += "0, ";
    text += values[i] + (i + 1 == sizes.size() ? "}" : ", ");
    if (i % 16 == 15) text += "\n    ";
  }
  auto [it, fresh] = names_.try_emplace(fmt::format("{}{}{}", type, sizes[0], text));
  if (fresh) {
    it->second = fmt::format("{}_t{}", prefix_, names_.size() - 1);
    tables_ += fmt::format("static const {} {}[] = {};\n\n", type, it->second, text);
  }
  return fmt::format("{}[n - {}]", it->second, sizes[0]);
}

}  // namespace qc
