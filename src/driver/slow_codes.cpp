#include "driver/slow_codes.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/checked.h"

namespace qc {

std::vector<std::string> slow_codes(const Program& program, const Target& target) {
  if (target.features.empty() || target.device) return {};
  int64_t all = 0, slow = 0;
  for_each_step(program.steps, [&](const Step& s) {
    const Call* call = s.call();
    if (!call) return;
    all = saturating_add(all, call->macs);
    const bool wide = std::ranges::any_of(call->in, [](const View& v) {
      return v.present() && (v.dtype == DType::i16 || v.dtype == DType::u16);
    });
    if (wide && call->body->machine.empty()) slow = saturating_add(slow, call->macs);
  });
  const double share = all > 0 ? static_cast<double>(slow) / static_cast<double>(all) : 0;
  if (share < 0.2) return {};
  return {
      fmt::format("{:.0f} % of the multiply-accumulates are of 16-bit codes, for which the target "
                  "has no vector kernels: they may take longer than floats; `quantc "
                  "analyze` says which layers are good enough in 8 bits",
                  100 * share)};
}

}  // namespace qc
