// The whole program as a function.
#pragma once

namespace qc::cli {

/// What `quantc` does with its arguments, once in a process; returns its exit status.
int program(int argc, char** argv);

}  // namespace qc::cli
