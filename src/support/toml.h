// The TOML parser. It asserts what some texts make false, so its assertions are always on and throw
// what is caught here: such a text is refused like any other that is no TOML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "support/toml_shape.h"

namespace qc {
struct TomlStopped {};
constexpr void toml_requires(bool holds) {
  if (!holds) throw TomlStopped{};
}
}  // namespace qc

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expr) ::qc::toml_requires(static_cast<bool>(expr))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace qc {

/// A table, or what is wrong with its text and in which line (0 where that is not known).
struct TomlText {
  toml::table table;
  std::string wrong;
  int64_t line = 0;
};

inline TomlText parse_toml(std::string_view text) {
  try {
    toml::parse_result parsed = toml::parse(text);
    if (parsed) return {std::move(parsed).table(), {}, 0};
    return {{}, std::string(parsed.error().description()), parsed.error().source().begin.line};
  } catch (const TomlStopped&) {
    return {{}, "this is no valid TOML", 0};
  }
}

}  // namespace qc
