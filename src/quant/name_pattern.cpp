#include "quant/name_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "support/budget.h"
#include "support/escape.h"

namespace qc {
namespace {

// Steps of a match beside those for the characters.
constexpr int64_t kMatchWork = 100;

/// Reads names apart by '|' from the front of `text`, up to another operator.
std::vector<std::string> take_names(std::string_view& text) {
  constexpr std::string_view kOperators = ".+*?()[]{}^$";
  std::vector<std::string> out(1);
  while (!text.empty() && kOperators.find(text[0]) == kOperators.npos) {
    // Before a letter or digit a backslash begins a class, an anchor or a code.
    const bool escape = text[0] == '\\';
    if (escape && (text.size() == 1 || !std::ispunct(static_cast<unsigned char>(text[1])))) break;
    if (text[0] == '|') {
      out.emplace_back();
    } else {
      out.back() += text[escape];
    }
    text.remove_prefix(escape ? 2 : 1);
  }
  return out;
}

}  // namespace

std::optional<SpelledNames> spelled_names(const std::string& pattern) {
  std::string_view rest = pattern;
  const bool grouped = rest.starts_with("(?:");
  if (grouped) rest.remove_prefix(3);
  SpelledNames out{take_names(rest)};
  if (grouped && !rest.starts_with(')')) return std::nullopt;
  if (grouped) rest.remove_prefix(1);
  out.whole = rest == "$";
  if (!out.whole && !rest.empty()) return std::nullopt;
  // In "a|b$" the end is b's alone.
  if (out.whole && !grouped && out.names.size() > 1) return std::nullopt;
  if (std::ranges::any_of(out.names, &std::string::empty) || !is_utf8(pattern)) return std::nullopt;
  std::ranges::sort(out.names);
  const auto covers = [&](const std::string& a, const std::string& b) {
    return out.whole ? a == b : b.starts_with(a);
  };
  out.names.erase(std::unique(out.names.begin(), out.names.end(), covers), out.names.end());
  return out;
}

NamePattern::NamePattern(const std::string& pattern) : spelled_(spelled_names(pattern)) {
  if (!spelled_) regex_ = std::make_shared<const re2::RE2>(pattern);
}

bool NamePattern::matches(const std::string& name) const {
  spend(Cost::work, kMatchWork + static_cast<int64_t>(name.size()));
  if (regex_) return regex_->Match(name, 0, name.size(), re2::RE2::ANCHOR_START, nullptr, 0);
  // No name starts with another, so the one that `name` starts with is the last that is not after.
  const auto after = std::ranges::upper_bound(spelled_->names, name);
  if (after == spelled_->names.begin()) return false;
  return spelled_->whole ? after[-1] == name : name.starts_with(after[-1]);
}

}  // namespace qc
