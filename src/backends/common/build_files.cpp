#include "backends/common/build_files.h"

#include <fmt/format.h>

namespace qc {

std::string_view weight_source(const ProjectOptions& options) {
  if (options.single_file) return "";
  switch (options.weights) {
    case WeightStorage::literal:
      return "c";
    case WeightStorage::incbin:
      return "S";
    case WeightStorage::file:
      return "";
  }
  return "";
}

std::string cmake_weights_text(const ProjectOptions& options) {
  if (weight_source(options) != "S") return "";
  return fmt::format(
      "set_source_files_properties({0}_weights.S PROPERTIES COMPILE_OPTIONS "
      "\"-Wa,-I,${{CMAKE_CURRENT_SOURCE_DIR}}\")\n",
      options.name);
}

std::string cmake_test_text(const ProjectOptions& options) {
  return fmt::format(
      "add_executable({0}_test {0}_test.c)\n"
      "target_link_libraries({0}_test {0})\n"
      "enable_testing()\n"
      "add_test(NAME {0} COMMAND {0}_test WORKING_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}})\n",
      options.name);
}

}  // namespace qc
