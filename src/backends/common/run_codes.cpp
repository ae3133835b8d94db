#include "backends/common/run_codes.h"

#include <fmt/format.h>

#include "backends/common/text.h"

namespace qc {
namespace {

struct Row {
  const char* name;
  int number;
  const char* means;  // {0} is the project's name, {1} the same in upper case
};

const Row& row(RunError kind) {
  static constexpr Row kRows[] = {
      {"NULL_POINTER", 1, "a pointer that is needed is null"},
      {"MISALIGNED", 2, "arena, state or weights are not aligned to {1}_ARENA_ALIGN"},
      {"BAD_SIZE", 3, "a size in dims that the model does not take"},
      {"BAD_PROCESSOR", 4, "it lacks instructions of target "},
      {"BAD_CONFIG", 4, "the configuration names something that does not exist"},
      {"NO_MEMORY", 5, "the host has no memory for a handle"},
      {"CUDA_FAILED", 6, "a call of the CUDA runtime; see {0}_error_text"},
      {"BAD_DEVICE", 7, "the GPU is older than those the code is for"},
      {"BAD_INDEX", 8, "an index is out of range"},
  };
  return kRows[static_cast<size_t>(kind)];
}

}  // namespace

std::string run_codes_text(const ProjectOptions& options, const std::vector<RunCode>& codes) {
  const std::string upper = c_upper(options.name);
  std::string out = fmt::format("#define {}_OK 0\n", upper);
  for (const RunCode& code : codes) {
    const Row& own = row(code.kind);
    out += fmt::format("#define {}_{:<14} /* {}{} */\n", upper,
                       fmt::format("{} {}", own.name, own.number),
                       fmt::format(fmt::runtime(own.means), options.name, upper), code.detail);
  }
  return out;
}

}  // namespace qc
