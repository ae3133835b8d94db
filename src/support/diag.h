// Diagnostics are values: nothing below the command line prints or exits.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qc {

/// Who has to act: the user, quantc's authors later, quantc's authors now.
enum class Kind { user, unsupported, internal };

enum class Code {
#define QC_CODE(name, kind, meaning) name,
#include "support/codes.inc"
#undef QC_CODE
};

struct CodeInfo {
  const char* name;
  Kind kind;
  const char* meaning;
};
const CodeInfo& info(Code code);
/// All codes in declaration order.
const std::vector<Code>& all_codes();

/// Where in the user's model something is. `names` are the model's own node names; fusing nodes
/// joins the lists, so a message can always be traced back to the model.
struct Loc {
  std::string file;
  std::vector<std::string> names;
  std::string op;

  bool operator==(const Loc&) const = default;
};
/// The union of both name lists, in order, without repeats; file and op from `a` unless empty.
Loc join(const Loc& a, const Loc& b);

struct Diag {
  Code code = Code::bug;
  Loc loc;
  std::string text;
  std::vector<std::string> notes;
};

/// "model.onnx: error[shape]: Conv 'layer1.0': weight expects 16 input channels, got 3", then one
/// indented line per note.
std::string render(const Diag& diag);
/// 1, 2 or 3, after the kind of the code.
int exit_status(const Diag& diag);

namespace detail {
Diag make(Code code, Loc loc, fmt::string_view format, fmt::format_args args);
}

/// Builds a diagnostic: `return error(Code::shape, loc, "expected rank {}, got {}", a, b);`
template <class... Args>
[[nodiscard]] Diag error(Code code, Loc loc, fmt::format_string<Args...> format, Args&&... args) {
  return detail::make(code, std::move(loc), format, fmt::make_format_args(args...));
}
template <class... Args>
[[nodiscard]] Diag error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return detail::make(code, Loc{}, format, fmt::make_format_args(args...));
}

}  // namespace qc
