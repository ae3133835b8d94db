// Sharing storage before placement: copies that vanish because the source is written where the copy
// would go, and results that overwrite an operand nobody needs any more. Where sizes are free, what
// is shared holds for all of them.
#pragma once

#include "program/program.h"

namespace qc {

/// Removes whole-buffer copies whose source can live inside the destination.
void elide_copies(Program& program);

/// Lets a call write its result over an operand that dies there, where the kernel allows it.
void share_in_place(Program& program);

}  // namespace qc
