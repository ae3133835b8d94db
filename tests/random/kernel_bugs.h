// Bugs to plant in the arithmetic of codes, for the test of the random graph tester: edits to the
// text of the kernels after which the global `qc_bug` chooses one, 0 being none.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace qc {

/// What bug 1, 2, ... is.
std::vector<std::string> kernel_bug_names();
/// Edits for build_c.
std::vector<std::pair<std::string, std::string>> kernel_bug_edits();

}  // namespace qc
