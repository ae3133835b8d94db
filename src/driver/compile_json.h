// What a compilation wrote, as JSON.
#pragma once

#include <string>

#include "driver/compile.h"
#include "driver/explain.h"

namespace qc {

/// As docs/schema/compile.json describes. `context` has the remarks and warnings of all stages.
std::string json(const CompileResult& result, const Totals& computed, const PassContext& context,
                 const std::string& model, const std::string& folder, const Options& options);

}  // namespace qc
