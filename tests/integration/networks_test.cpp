// The program of every network of tests/models: its arena stays near the lower bound, and its text
// form parses back.
#include <gtest/gtest.h>

#include <filesystem>

#include "arrays/npz.h"
#include "driver/arrays.h"
#include "driver/compile.h"
#include "driver/load.h"
#include "interp/interpreter.h"
#include "program/liveness.h"
#include "program/parse.h"
#include "program/run.h"

namespace qc {
namespace {

std::vector<std::string> networks() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/models")) {
    const std::string extension = entry.path().extension();
    if (extension == ".onnx" || extension == ".pt2") {
      out.push_back(entry.path().filename());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Bytes of arena storage alive together, counted step by step from the Program alone: storage is
/// alive from the first step that names it (or a view of it) to the last.
int64_t counted_bound(const Program& p) {
  std::map<int, std::pair<int, int>> life;
  int now = 0;
  for (const Step& s : p.steps) {
    for_each_view(s, [&](const View& v, bool) {
      int b = v.buffer;
      while (p.buffers[static_cast<size_t>(b)].alias_of >= 0)
        b = p.buffers[static_cast<size_t>(b)].alias_of;
      if (p.buffers[static_cast<size_t>(b)].kind != BufferKind::arena) return;
      auto [it, fresh] = life.try_emplace(b, now, now);
      it->second.second = now;
    });
    ++now;
  }
  int64_t peak = 0;
  for (int t = 0; t < now; ++t) {
    int64_t live = 0;
    for (const auto& [buffer, range] : life) {
      if (range.first <= t && t <= range.second) live += (p.buffer(buffer).size() + 63) / 64 * 64;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

class Networks : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = "tests/models/" + GetParam();
    auto graph = load_model(path);
    ASSERT_TRUE(graph.ok()) << render(graph.diag());
    graph_ = std::move(*graph);
    auto arrays = read_npz(path.substr(0, path.rfind('.')) + ".npz");
    ASSERT_TRUE(arrays.ok()) << render(arrays.diag());
    auto inputs = match_inputs(*graph_, *arrays);
    ASSERT_TRUE(inputs.ok()) << render(inputs.diag());
    inputs_ = std::move(*inputs);
    auto bindings = bindings_for(*graph_, inputs_);
    ASSERT_TRUE(bindings.ok()) << render(bindings.diag());
    Options options;
    options.dims = {bindings->begin(), bindings->end()};
    options.verify = true;
    auto contract = make_contract(*graph_, options);
    ASSERT_TRUE(contract.ok()) << render(contract.diag());
  }
  Program program(Options options) {
    options.target = "portable";
    auto copied = copy(*graph_);
    EXPECT_TRUE(copied.ok()) << render(copied.diag());
    auto made = make_program(**copied, options);
    EXPECT_TRUE(made.ok()) << render(made.diag());
    auto checked = verify(*made);
    EXPECT_TRUE(checked.ok()) << render(checked.diag());
    return std::move(*made);
  }

  std::unique_ptr<Graph> graph_;
  std::vector<Tensor> inputs_;
};

TEST_P(Networks, ArenaIsNearItsLowerBound) {
  const Program p = program({});
  const int64_t bound = counted_bound(p);
  EXPECT_EQ(bound, arena_lower_bound(p));
  EXPECT_LE(p.arena_bytes * 100, bound * 105);
  Options own_order;
  own_order.disabled_passes = {"reorder_steps"};
  EXPECT_LE(p.arena_bytes, program(own_order).arena_bytes);
}

TEST_P(Networks, ProgramsPrintAndParse) {
  const Program p = program({});
  const std::string text = str(p);
  auto parsed = parse_program(text, p.pool);
  ASSERT_TRUE(parsed.ok()) << render(parsed.diag());
  EXPECT_EQ(str(*parsed), text);
  auto a = run_program(p, inputs_), b = run_program(*parsed, inputs_);
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < a->outputs.size(); ++i)
    EXPECT_TRUE(a->outputs[i].identical(b->outputs[i]));
}

INSTANTIATE_TEST_SUITE_P(All, Networks, testing::ValuesIn(networks()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace qc
