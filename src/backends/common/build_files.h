// What build files of generated projects have in common.
#pragma once

#include <string>
#include <string_view>

#include "backends/common/project.h"

namespace qc {

/// The extension of the source file that holds the weights, "c" or "S"; empty where there is none.
std::string_view weight_source(const ProjectOptions& options);
/// What CMake needs to build that file: the assembler finds the weights beside it.
std::string cmake_weights_text(const ProjectOptions& options);
/// The executable NAME_test of NAME_test.c, linked with the library NAME, as a test of CTest.
std::string cmake_test_text(const ProjectOptions& options);

}  // namespace qc
