// The layers of a model with their sizes and work, for tables and JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/explain.h"
#include "ir/graph.h"

namespace qc {

struct Layer {
  std::vector<std::string> names;
  std::string op;
  Computes computes = Computes::floats;
  std::vector<std::string> results;  // "f32[1, 64]"
  std::vector<QType> result_types;
  int64_t parameters = 0, macs = 0, bytes = 0;
  int depth = 0;  // 1 and more in bodies of branches and loops
};

struct Layers {
  std::vector<Layer> all;
  int64_t parameters = 0, macs = 0, bytes = 0;
  /// Free dimensions with the sizes that work and bytes are counted for: those the model was
  /// exported with, or the least that it allows and that is not 0.
  std::map<std::string, int64_t> sizes;
};

Layers layers_of(const Graph& graph);

}  // namespace qc
