// What a call selects, by name: the build makes kernels/<folder>/selectors.h of each kernels.sig.
#pragma once

#include <algorithm>

#include "program/program.h"

namespace qc {

/// The value of the kernel's selector of this name, which it must have.
inline const std::string& selector(const Call& call, std::string_view name) {
  const std::vector<std::string>& names = call.kernel->selectors;
  const auto at = std::find(names.begin(), names.end(), name);
  QC_CHECK(at != names.end(), "a kernel has no such selector");
  return call.select[static_cast<size_t>(at - names.begin())];
}

}  // namespace qc
