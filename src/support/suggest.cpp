#include "support/suggest.h"

#include <algorithm>
#include <cctype>

namespace qc {
namespace {

// Words of commands and files are short; comparing longer ones would only cost time.
constexpr size_t kLongest = 64;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = lower(first), b = lower(second);
  const size_t width = b.size() + 1;
  std::vector<size_t> at((a.size() + 1) * width);
  auto d = [&](size_t i, size_t j) -> size_t& { return at[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) d(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) d(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = d(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      d(i, j) = std::min({d(i - 1, j) + 1, d(i, j - 1) + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d(i, j) = std::min(d(i, j), d(i - 2, j - 2) + 1);
    }
  }
  return d(a.size(), b.size());
}

std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string* best = nullptr;
  size_t least = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    size_t distance = edit_distance(word, candidate);
    const size_t most = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const size_t part = word.size() > 2 ? lower(candidate).find(lower(word)) : std::string::npos;
    if (part != std::string::npos) distance = std::min<size_t>(distance, part == 0 ? 1 : most);
    if (distance > most) continue;
    if (best && distance >= least) continue;
    best = &candidate;
    least = distance;
  }
  if (!best) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = closest(word, candidates);
  return meant ? "; did you mean '" + *meant + "'?" : std::string();
}

}  // namespace qc
