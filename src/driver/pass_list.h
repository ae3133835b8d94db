// All passes of a compilation, over graphs and over Programs, as one list.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace qc {

struct PassRow {
  std::string name, stage, summary;
  bool optional = false;  // --disable-pass leaves it out
};

/// In the order they run.
std::vector<PassRow> all_passes();
/// The pass of this name; the error lists those there are.
Result<PassRow> find_any_pass(const std::string& name);

}  // namespace qc
