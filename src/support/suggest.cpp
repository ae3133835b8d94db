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

/// Whether the letters of `word` stand in `whole` in their order, the first of both the same.
bool abbreviates(std::string_view word, std::string_view whole) {
  if (word.empty() || whole.empty() || word[0] != whole[0]) return false;
  size_t at = 0;
  for (const char c : whole) at += at < word.size() && word[at] == c ? 1 : 0;
  return at == word.size();
}

/// Whether one is a part of the other, best at its start, or short for it: how far they are apart
/// at most, `most` where that is all that is known of them.
std::optional<size_t> related(const std::string& word, const std::string& other, size_t most) {
  if (std::min(word.size(), other.size()) <= 2) return std::nullopt;
  if (other.starts_with(word)) return 1;
  const bool part = other.find(word) != other.npos || word.find(other) != word.npos;
  if (part || abbreviates(word, other)) return most;
  return std::nullopt;
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
  // Words that share no letter are not meant, however short they are.
  const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  const std::string* best = nullptr;
  size_t least = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    size_t distance = edit_distance(word, candidate);
    const size_t most = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance >= letters) distance = most + 1;
    if (const auto near = related(lower(word), lower(candidate), most))
      distance = std::min(distance, *near);
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
