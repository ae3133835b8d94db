// NamePattern: the regular expression of a rule on names of nodes. What is only names, as in the
// rules that calibration writes, is compared as text, and can be looked up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace qc {

/// Names that a pattern spells out: "conv1$", "(?:a\.0|a\.1)$", "block1".
struct SpelledNames {
  std::vector<std::string> names;  // sorted; where starts are meant, none starts with another
  bool whole = false;              // the whole name, not its start
};

/// Null where the pattern is more than names.
std::optional<SpelledNames> spelled_names(const std::string& pattern);

class NamePattern {
 public:
  /// A valid expression (RE2).
  explicit NamePattern(const std::string& pattern);

  /// Whether the expression matches from the start of the name.
  bool matches(const std::string& name) const;
  /// Null where only the expression can tell what it matches.
  const SpelledNames* spelled() const { return spelled_ ? &*spelled_ : nullptr; }

 private:
  std::optional<SpelledNames> spelled_;
  std::shared_ptr<const re2::RE2> regex_;  // null where names are spelled out
};

}  // namespace qc
