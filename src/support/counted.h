// Numbers of things in messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace qc {

/// "1 node", "2 nodes".
template <class Number>
std::string counted(Number count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace qc
