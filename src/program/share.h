// Sharing storage before placement: copies that vanish because the source is written where the copy
// would go, and results that overwrite an operand nobody needs any more. Several programs of one
// structure (see program/shape_set.h) share alike: what is done to one is done to all.
#pragma once

#include <span>

#include "program/program.h"

namespace qc {

/// Removes whole-buffer copies whose source can live inside the destination.
void elide_copies(std::span<Program> programs);
inline void elide_copies(Program& program) { elide_copies(std::span(&program, 1)); }

/// Lets a call write its result over an operand that dies there, where the kernel allows it.
void share_in_place(std::span<Program> programs);
inline void share_in_place(Program& program) { share_in_place(std::span(&program, 1)); }

}  // namespace qc
