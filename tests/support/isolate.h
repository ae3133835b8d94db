// Runs many small jobs in a child process, so that a crash or a hang is the result of one job and
// not the end of all.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace qc {

/// Calls `job(i)` for every i below `count` in a forked child and returns what each returned. A job
/// that kills the child gives "crashed: signal N"; one that takes more than `seconds` of
/// processor time "timed out".
std::vector<std::string> run_isolated(size_t count, const std::function<std::string(size_t)>& job,
                                      unsigned seconds);

}  // namespace qc
