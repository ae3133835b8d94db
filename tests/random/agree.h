// Graphs that must give the same bits in the interpreter, as a program in process and in C.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "program/program.h"
#include "tests/support/c_batch.h"

namespace qc {

/// A number from the environment.
int64_t setting(const char* name, int64_t fallback);

/// A folder of this process.
std::string own_folder(const std::string& name);

struct Sample {
  std::string text;  // the graph as generated
  std::vector<Tensor> inputs, expected;
  Program program;
};

/// A random graph, its contract graph interpreted, and its program. `contract` is called with the
/// contract graph.
Result<Sample> make_sample(uint64_t seed, std::unique_ptr<Graph> graph,
                           const std::function<void(const Graph&)>& contract = {});

/// Which output differs, a NaN being equal to any other; empty when none does.
std::string first_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want);

/// The same where every step that has units is split into 1, 2, 3 and 7 parts, the last one first.
std::string difference_in_parts(Program program, const Sample& sample);

/// Makes `count` graphs from the seeds `base` on and runs them in all ways; test failures name the
/// seed and show the graph. With QUANTC_RANDOM_IN_PROCESS in the environment C is left out and each
/// seed is printed before it runs, so that a crash has a name.
void expect_agreement(const std::string& name, int64_t base, int64_t count, const CBuild& how,
                      const std::function<std::unique_ptr<Graph>(uint64_t)>& make,
                      const std::function<void(const Graph&)>& contract = {});

}  // namespace qc
