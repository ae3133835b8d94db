// Refuses what no import is known of, before anything is imported.
#pragma once

#include "frontends/fx/dump.h"
#include "frontends/fx/readers.h"
#include "support/result.h"

namespace qc::fx {

/// An error that lists every spelling and class of module that nothing is known of, all at once.
Result<Ok> check_supported(const Dump& dump, const Readers& readers, const std::string& file);

}  // namespace qc::fx
