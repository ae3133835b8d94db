#include "driver/pass_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/registry.h"
#include "passes/pipeline.h"
#include "program/passes.h"
#include "support/suggest.h"

namespace qc {

std::vector<PassRow> all_passes() {
  static constexpr const char* kStages[] = {"normalise", "fuse", "quantize", "lower"};
  std::vector<PassRow> out;
  for (const Pass& p : pipeline()) {
    out.push_back({p.name, kStages[static_cast<int>(p.stage)], p.summary, p.optional()});
  }
  for (const ProgramPass& p : program_passes())
    out.push_back({p.name, "program", p.summary, p.level > 0});
  for (const Backend* backend : all_backends()) {
    for (const BackendPass& p : backend->passes())
      out.push_back({p.name, "program", p.summary, p.level > 0});
  }
  return out;
}

Result<PassRow> find_any_pass(const std::string& name) {
  std::vector<std::string> known;
  for (PassRow& row : all_passes()) {
    if (row.name == name) return std::move(row);
    if (std::ranges::find(known, row.name) == known.end()) known.push_back(row.name);
  }
  return error(Code::usage, "there is no pass '{}' (passes: {}){}", name, fmt::join(known, ", "),
               did_you_mean(name, known));
}

}  // namespace qc
