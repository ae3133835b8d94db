// Bugs to plant in a Program, for the test of the random graph tester.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/program.h"

namespace qc {

struct PlantedBug {
  std::string name;
  /// Breaks the program and says true, or leaves it as it is where the bug has no place.
  std::function<bool(Program&)> plant;
};

/// At least twenty, of different kinds.
std::vector<PlantedBug> planted_bugs();

}  // namespace qc
