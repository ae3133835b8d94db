#include "target/facts.h"

#include <fmt/format.h>

namespace qc {

std::vector<Fact> listed(const Facts& facts) {
  const auto number = [](double value) { return value > 0 ? fmt::format("{}", value) : ""; };
  const auto kib = [&](int64_t bytes) { return number(static_cast<double>(bytes) / 1024); };
  const bool gpu = facts.shared_block > 0;
  return {
      {"clock", "GHz", number(facts.clock_ghz)},
      {"multiprocessors", "", gpu ? fmt::format("{}", facts.multiprocessors) : ""},
      {gpu ? "warp" : "vector", "bytes", fmt::format("{}", facts.vector_bytes)},
      {"f32", "GMAC/s", number(facts.f32_gmacs)},
      {"i16", "GMAC/s", number(facts.i16_gmacs)},
      {gpu ? "dp4a" : "i8", "GMAC/s", number(facts.i8_gmacs)},
      {"tensor cores, i8", "GMAC/s", number(facts.tensor_gmacs)},
      {"memory", "GB/s", number(facts.memory_gbs)},
      {"L2", "bytes a clock and multiprocessor", number(static_cast<double>(facts.l2_bytes))},
      {"shared memory of a block", "KiB", kib(facts.shared_block)},
      {"shared memory of a multiprocessor", "KiB", kib(facts.shared_multiprocessor)},
  };
}

}  // namespace qc
