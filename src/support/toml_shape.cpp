#include "support/toml_shape.h"

#include <algorithm>
#include <cctype>

namespace qc {
namespace {

constexpr int kMaxParts = 32;
constexpr size_t kMaxDepth = 32;

/// Whether the table header that begins at `at` with its bracket has a name; the parser relies on
/// it.
bool header_has_name(std::string_view text, size_t at) {
  at = text.find_first_not_of(" \t", at + (text.substr(at, 2) == "[[" ? 2 : 1));
  if (at == text.npos) return false;
  const auto c = static_cast<unsigned char>(text[at]);
  return std::isalnum(c) || c == '_' || c == '-' || c == '"' || c == '\'';
}

/// Where the string that begins at `at` ends: the place after its closing quotes.
size_t after_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const bool multi = text.substr(at, 3) == std::string_view(quote == '"' ? "\"\"\"" : "'''");
  const size_t width = multi ? 3 : 1;
  const std::string_view end = text.substr(at, width);
  for (size_t i = at + width; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (!multi && text[i] == '\n') {
      return i;  // not closed: the parser says so
    } else if (text.substr(i, width) == end) {
      return i + width;
    }
  }
  return text.size();
}

}  // namespace

Result<Ok> check_toml_depth(std::string_view text, const Loc& loc) {
  std::string open;   // brackets of the value that are not closed yet
  bool key = true;    // where a key may stand; its dots separate parts
  bool fresh = true;  // nothing stands before this on the line
  int parts = 1;
  int64_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const size_t end = after_string(text, i);
      fresh = false;
      line += std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                         text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
      i = end;
      continue;
    }
    if (c == '[' && fresh && !header_has_name(text, i))
      return error(Code::format, loc, "line {}: a table has no name", line);
    fresh = c == '\n' ? open.empty() : fresh && (c == ' ' || c == '\t');
    ++i;
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '\n') {
      ++line;
      if (open.empty()) key = true;
      parts = 1;
    } else if (c == '=') {
      key = false;
    } else if (key && c == '.') {
      if (++parts > kMaxParts)
        return error(Code::limit, loc, "line {}: a key of more than {} parts", line, kMaxParts);
    } else if (!key && (c == '[' || c == '{')) {
      open += c;
      key = c == '{';
      parts = 1;
      if (open.size() > kMaxDepth)
        return error(Code::limit, loc, "line {}: lists or tables more than {} deep", line,
                     kMaxDepth);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      if ((c == ']') != (open.back() == '['))
        return error(Code::format, loc, "line {}: '{}' cannot close '{}'", line, c, open.back());
      open.pop_back();
      key = false;
    } else if (c == ',' && !open.empty()) {
      key = open.back() == '{';
      parts = 1;
    }
  }
  return Ok{};
}

}  // namespace qc
