// Templates of generated files. A template is a file FILE.tmpl in the folder of its backend; the
// build makes a constant of it (cmake/templates.py) in the header templates.h of that folder.
//
//   ${name}          the text of a hole
//   ${flag?yes:no}   one of two texts, which hold no hole; `:no` may be left out
//   %text name       the text of a hole, lines of its own or nothing
//   %if name         the lines to %else or %end where a flag is set or a text is not empty;
//   %if not name     the opposite
//   %each rows       the lines to %end for each row, whose columns are holes there
//   %# ...           a comment
//
// Directives stand at the beginning of a line and leave nothing of it.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qc {

/// What an %each goes over: the names of the columns, and a text for each in every row.
struct TemplateRows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// What a hole is filled with: a text, a number, a flag, or rows.
class Hole {
 public:
  Hole(std::string text) : is_(std::move(text)) {}
  Hole(std::string_view text) : is_(std::string(text)) {}
  Hole(const char* text) : is_(std::string(text)) {}
  Hole(std::same_as<bool> auto flag) : is_(flag) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Hole(T number) : is_(std::to_string(number)) {}
  Hole(TemplateRows rows) : is_(std::move(rows)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is_);
  }

 private:
  std::variant<std::string, bool, TemplateRows> is_;
};

using Holes = std::map<std::string, Hole, std::less<>>;

/// The text of a template. Lines that are left out are checked too: a name that is no hole, a hole
/// that no line names, and blocks that do not match are bugs of quantc (support/bug.h).
std::string expand(std::string_view text, const Holes& holes);

}  // namespace qc
