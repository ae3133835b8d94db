// How an FX node spells what it calls.
#pragma once

#include <string>
#include <utility>

#include "frontends/fx/dump.h"

namespace qc::fx {

/// "torch.relu" of "torch.relu_", and whether it was the in-place form; methods have a dot in
/// front. Of torch.ops.quantized the overload is left out: each op has one.
std::pair<std::string, bool> plain_spelling(const DumpNode& node);

}  // namespace qc::fx
