#include "ir/solve.h"

#include <set>
#include <string>

namespace qc {
namespace {

/// The number that a symbol must be for an expression to have a value; none where it has other
/// symbols, or does not grow by one number with each step of this one.
std::optional<std::pair<std::string, int64_t>> solved(const Dim& axis, int64_t size) {
  std::set<std::string> symbols;
  axis.collect_symbols(symbols);
  if (symbols.size() != 1) return std::nullopt;
  const std::string& symbol = *symbols.begin();
  Dim at[3];
  for (int64_t i = 0; i < 3; ++i) {
    at[i] = axis.substitute({{symbol, i}});
    if (!at[i].is_static()) return std::nullopt;
  }
  const int64_t slope = at[1].value() - at[0].value(), rest = size - at[0].value();
  if (slope == 0 || at[2].value() - at[1].value() != slope || rest % slope != 0)
    return std::nullopt;
  if (rest / slope < 0) return std::nullopt;
  return std::pair(symbol, rest / slope);
}

}  // namespace

void solve_axes(const std::vector<std::pair<Dim, int64_t>>& axes, Bindings& known) {
  for (bool found = true; found;) {
    found = false;
    for (const auto& [axis, size] : axes) {
      if (axis.is_static()) continue;
      const auto symbol = solved(axis.substitute(known), size);
      if (symbol) found = known.emplace(symbol->first, symbol->second).second || found;
    }
  }
}

}  // namespace qc
