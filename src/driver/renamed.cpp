#include "driver/renamed.h"

#include <fmt/format.h>

#include <string_view>

namespace qc {
namespace {

struct Renamed {
  std::string_view was, now;
};

constexpr Renamed kPasses[] = {
    {"fuse_openings", "fuse_prologues"},
    {"merge_parts", "merge_slices"},
    {"place_buffers", "assign_offsets"},
};

}  // namespace

void use_current_pass(std::string& name, std::vector<std::string>& warnings) {
  for (const Renamed& pass : kPasses) {
    if (name != pass.was) continue;
    warnings.push_back(fmt::format(
        "the pass '{}' is named '{}' now; the next release knows only that name", name, pass.now));
    name = pass.now;
    return;
  }
}

quantc::Options with_current_names(quantc::Options options, std::vector<std::string>& warnings) {
  for (std::string& name : options.disabled_passes) use_current_pass(name, warnings);
  use_current_pass(options.stop_after, warnings);
  return options;
}

}  // namespace qc
