// What variants of kernels the build has: with QUANTC_PORTABLE_ONLY there are none for machines.
#pragma once

#include <algorithm>

#include "program/variant.h"

namespace qc {

/// Whether programs for the target can call bodies of its own; true where it is to have none.
inline bool has_variants_for(const Target& target) {
  const auto all = all_variants();
  return target.features.empty() || std::any_of(all.begin(), all.end(), [&](const Variant& v) {
           return !v.feature.empty() && target.has(v.feature);
         });
}

}  // namespace qc
