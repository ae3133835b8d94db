// Weights that a program stores in more bytes than the model has them in.
#pragma once

#include <string>
#include <vector>

#include "program/lowering.h"

namespace qc {

/// A line for every narrow element type whose weights became at least twice as wide, because they
/// were decoded when compiling or because no kernel reads them so narrow where they are used.
/// Constants under 4 KiB are not worth a word.
std::vector<std::string> widened_weights(const Program& program, const PackedConstants& constants);

}  // namespace qc
