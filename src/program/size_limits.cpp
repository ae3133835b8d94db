#include "program/size_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

namespace qc {

Largest largest_sizes(const std::set<std::string>& symbols, const SymbolBounds& free) {
  std::vector<std::string> names, sizes;
  for (const std::string& symbol : symbols) {
    const auto range = free.find(symbol);
    if (range == free.end()) continue;
    names.push_back(symbol);
    sizes.push_back(fmt::format("{}={}", symbol, range->second.max));
  }
  if (names.empty()) return {};
  return {fmt::format(" at the largest sizes, {}", fmt::join(sizes, ", ")),
          fmt::format("; end the range of --dim {} earlier", fmt::join(names, " or of --dim "))};
}

Result<Dim> as_param(const Dim& size, const SymbolBounds& free) {
  const Bounds range = size.bounds(free);
  if (range.min >= INT32_MIN && range.max <= INT32_MAX) return size;
  std::set<std::string> symbols;
  size.collect_symbols(symbols);
  const auto [at, advice] = largest_sizes(symbols, free);
  return error(Code::limit, "a size of {} elements{} is beyond 32 bits{}",
               range.max > INT32_MAX ? range.max : range.min, at, advice);
}

}  // namespace qc
