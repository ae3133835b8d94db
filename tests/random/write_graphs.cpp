// Writes random quantized graphs, for tests that compile them: write_graphs FOLDER FIRST COUNT.
// FOLDER/g<seed>.ir is a graph, g<seed>.npz has its inputs.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "arrays/npz.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "tests/random/quantized.h"

namespace qc {
namespace {

Result<Ok> write(const std::string& stem, uint64_t seed) {
  const auto graph = seed % 2   ? linear_layers_graph(seed)
                     : seed % 4 ? random_quantized_graph(seed, 4)
                                : near_tie_graph(seed);
  if (!graph) return error(Code::bug, "no graph from seed {}", seed);
  std::ofstream(stem + ".ir") << print(*graph, {.all_constants = true});
  const std::vector<Tensor> tensors = random_tensors(*graph, seed);
  std::vector<NamedArray> inputs;
  for (const Value* v : graph->inputs()) inputs.push_back({v->name(), tensors[inputs.size()]});
  return write_npz(stem + ".npz", inputs);
}

}  // namespace
}  // namespace qc

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  qc::register_all_ops();
  const uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const uint64_t count = std::strtoull(argv[3], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = qc::write(fmt::format("{}/g{}", argv[1], seed), seed);
    if (!done.ok()) {
      fmt::print(stderr, "{}\n", qc::render(done.diag()));
      return 1;
    }
  }
  return 0;
}
