// The kinds of errors that generated functions return.
#pragma once

#include <string>
#include <vector>

#include "backends/common/project.h"

namespace qc {

/// Each has a name, a number and what it means; numbers never change, so that callers may keep
/// them.
enum class RunError : uint8_t {
  null_pointer,
  misaligned,
  bad_size,
  bad_processor,  // instructions that are missing
  bad_config,     // fields of a configuration
  no_memory,      // of the host
  cuda_failed,    // a call of the runtime, or a fault in a kernel
  bad_device,     // one that the code is not for
  bad_index,      // an element of an input
};

/// A kind as the header of one project states it.
struct RunCode {
  RunError kind;
  std::string detail = {};  // follows what it means
};

/// The macros of the codes, one per line: "#define NET_BAD_SIZE 3 /* ... */".
std::string run_codes_text(const ProjectOptions& options, const std::vector<RunCode>& codes);

}  // namespace qc
