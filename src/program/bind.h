// Programs with free dimensions: at given sizes, and what their ranges say.
#pragma once

#include "program/program.h"

namespace qc {

/// The sizes that shapes of inputs give the program's free dimensions; an error where they
/// contradict each other or the model does not take them.
Result<Bindings> sizes_of(const Program& program, const std::vector<std::vector<int64_t>>& shapes);

/// Whether the model takes these sizes of all its free dimensions.
Result<Ok> check_sizes(const Program& program, const Bindings& sizes);

/// The program with these sizes instead of its free dimensions.
Program bound(const Program& program, const Bindings& sizes);

/// Writes every size without the choices that the ranges of the free dimensions decide.
void simplify_sizes(Program& program);

}  // namespace qc
