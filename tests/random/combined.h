// Random compilations: graphs with free sizes, rules of every kind, buckets, and the options that
// must not change an answer.
#pragma once

#include <memory>

#include "driver/compile.h"
#include "ir/graph.h"

namespace qc {

struct Compilation {
  std::unique_ptr<Graph> graph;
  Options options;  // without a target
};

/// Some dimension has buckets in half of them, and rules quantize most.
Compilation random_compilation(uint64_t seed);

/// One line that says how the graph is compiled: rules, ranges and options.
std::string str(const Options& options);

}  // namespace qc
