// What is known of the terminal.
#pragma once

#include <cstddef>

namespace qc::cli {

/// Whether somebody reads standard output as it comes; else it is for files and programs.
bool is_terminal();
/// Columns of standard output; 100 where it is no terminal.
size_t terminal_width();
/// Whether messages on standard error may have colours: it is a terminal, and NO_COLOR is not set.
bool has_colours();

}  // namespace qc::cli
