// The backends that are built in: a folder of src/backends each, or one from outside the tree.
#pragma once

#include <span>

#include "backends/common/backend.h"

namespace qc {

/// All backends, in the order of their folders.
std::span<const Backend* const> all_backends();
/// The one that writes a target's language.
const Backend& backend_of(const Target& target);

}  // namespace qc
