// Diagnostics are values: nothing below the command line prints or exits.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/interned.h"

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
  Interned file;
  Interned op;
  std::vector<std::string> names;

  // Out of line, here and in Diag: they stand in every function that can fail.
  Loc() noexcept;
  Loc(Interned file, std::vector<std::string> names, Interned op);
  Loc(const Loc&);
  Loc(Loc&&) noexcept;
  Loc& operator=(const Loc&);
  Loc& operator=(Loc&&) noexcept;
  ~Loc();
  bool operator==(const Loc&) const;
};
/// Both name lists, in order, without repeats, "..." after 1000; file and op from `a` unless empty.
Loc join(const Loc& a, const Loc& b);

struct Diag {
  Code code;
  Loc loc;
  std::string text;
  std::vector<std::string> notes;

  Diag(Code code, const Loc& loc, std::string text);
  Diag(const Diag&);
  Diag(Diag&&) noexcept;
  Diag& operator=(const Diag&);
  Diag& operator=(Diag&&) noexcept;
  ~Diag();
};

/// "model.onnx: error[shape]: Conv 'layer1.0': weight expects 16 input channels, got 3", then one
/// indented line per note.
std::string render(const Diag& diag);
/// 1, 2 or 3, after the kind of the code.
int exit_status(const Diag& diag);

namespace detail {
Diag make(Code code, const Loc& loc, fmt::string_view format, fmt::format_args args);
}

/// Builds a diagnostic: `return error(Code::shape, loc, "expected rank {}, got {}", a, b);`
template <class... Args>
[[nodiscard]] Diag error(Code code, const Loc& loc, fmt::format_string<Args...> format,
                         Args&&... args) {
  return detail::make(code, loc, format, fmt::make_format_args(args...));
}
template <class... Args>
[[nodiscard]] Diag error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return detail::make(code, Loc{}, format, fmt::make_format_args(args...));
}

}  // namespace qc
