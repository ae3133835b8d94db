// Programs that quantc starts: compilers, make, Graphviz, the Python of a peer. None of them, and
// none that they start, is looked for in the current folder, and what they use is bounded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace qc {

/// What each process of a program may use, for files up to a megabyte; the current budget scales
/// it, and without a budget nothing is limited.
struct ToolLimits {
  int64_t seconds = 0;    // of the processor; 0: any
  int64_t megabytes = 0;  // of data; 0: any
  int64_t patience = 20;  // times the seconds, by the clock, for all processes together
};
inline constexpr ToolLimits kCompilerLimits{20, 640};
inline constexpr ToolLimits kDeviceCompilerLimits{240, 4096};  // templates of CUDA C++
inline constexpr ToolLimits kPictureLimits{20, 512};
inline constexpr ToolLimits kPeerLimits{30, 8192};  // until it has run the model once

struct ToolCall {
  std::vector<std::string> command;
  ToolLimits limits;
  std::string folder;  // where it runs; empty: in the current folder
};

/// Where a program is: a name with a slash as it is, another in the absolute folders of $PATH.
/// Empty where there is none.
std::string find_tool(const std::string& name);

/// Starts a program as the leader of a group of its own, with `end` as standard input where
/// `both_ways`, and as standard output; standard error goes to `errors`.
Result<pid_t> start_tool(const ToolCall& call, int end, bool both_ways, int errors);

/// Runs a program without a shell; an error carries the tail of what it printed.
Result<Ok> run_tool(const ToolCall& call);

/// Milliseconds on the clock until all processes of a call must have ended; -1: no limit.
int64_t tool_patience(const ToolLimits& limits);

}  // namespace qc
