// .pt2 files as graphs: every archive layout runs and gives PyTorch's answer, and damaged files end
// in a diagnostic.
#include <gtest/gtest.h>

#include <cmath>

#include "arrays/npz.h"
#include "frontends/pt2/importer.h"
#include "frontends/pt2/liveness.h"
#include "interp/interpreter.h"
#include "ops/common/registration.h"

namespace qc::pt2 {
namespace {

const std::string kData = "tests/data/pt2/";

class Pt2Model : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_all_ops(); }
};

TEST_F(Pt2Model, RowsSayWhatSharesMemory) {
  FlatGraph g;
  auto add = [&](std::string target, std::vector<const char*> inputs, const char* output) {
    ExportedNode n;
    n.target = "torch.ops." + target;
    for (const char* name : inputs)
      n.inputs.push_back({"", {ArgKind::tensor, {{Item::Kind::name, name, 0, 0}}, {}, {}}});
    n.outputs.push_back({ArgKind::tensor, {{Item::Kind::name, output, 0, 0}}, {}, {}});
    g.nodes.push_back({std::move(n), 0});
  };
  add("aten.clone.default", {"x"}, "c");
  add("aten.select.int", {"c"}, "s");
  add("aten.fill_.Scalar", {"s"}, "f");
  add("aten.no_row.default", {"y"}, "v");  // may be a view of y
  add("aten.fill_.Scalar", {"v"}, "g");
  add("library.no_row.default", {"z"}, "w");  // may write to z
  add("aten.randn_like.default", {"z"}, "r");
  add("aten.fill_.Scalar", {"r"}, "h");
  Liveness live(g, {"c", "y", "z"}, {});
  for (size_t i = 0; i < g.nodes.size(); ++i) EXPECT_EQ(live.live(i), i < 6) << i;
  EXPECT_FALSE(live.written("x"));
  EXPECT_TRUE(live.written("c"));
  EXPECT_TRUE(live.written("y"));
}

struct Vectors {
  std::vector<Tensor> inputs, outputs;
};

Vectors read_vectors(const std::string& path) {
  Vectors v;
  auto arrays = read_npz(path);
  EXPECT_TRUE(arrays.ok());
  for (NamedArray& a : *arrays) {
    (a.name.starts_with("in_") ? v.inputs : v.outputs).push_back(std::move(a.tensor));
  }
  return v;
}

void expect_close(const Tensor& expected, const Tensor& actual) {
  ASSERT_EQ(expected.dtype(), actual.dtype());
  ASSERT_EQ(expected.shape(), actual.shape());
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::fmax(largest, std::fabs(expected.as_double(i)));
    worst = std::fmax(worst, std::fabs(expected.as_double(i) - actual.as_double(i)));
  }
  EXPECT_LE(worst, 1e-4 * largest);
}

void expect_answers(const std::string& file, const ImportOptions& options = {}) {
  SCOPED_TRACE(file);
  Vectors v = read_vectors(kData + "small.npz");
  auto graph = load(kData + file, options);
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  ASSERT_TRUE(verify(**graph).ok());
  auto bindings = bindings_for(**graph, v.inputs);
  ASSERT_TRUE(bindings.ok()) << render(bindings.diag());
  ASSERT_TRUE((*graph)->bind(*bindings).ok());
  auto result = interpret(**graph, v.inputs);
  ASSERT_TRUE(result.ok()) << render(result.diag());
  ASSERT_EQ(result->outputs.size(), v.outputs.size());
  for (size_t i = 0; i < v.outputs.size(); ++i) expect_close(v.outputs[i], result->outputs[i]);
}

TEST_F(Pt2Model, EveryLayoutGivesTheSameAnswer) {
  for (const char* file : {"torch_2_13.pt2", "torch_2_8.pt2", "torch_2_6.pt2", "torch_2_4.pt2",
                           "pickled_weight.pt2"}) {
    expect_answers(file);
  }
}

TEST_F(Pt2Model, DimsMayBeBoundWhileImporting) {
  expect_answers("torch_2_13.pt2", {.dims = {{"s77", 3}}});
  auto graph = load(kData + "torch_2_13.pt2", {.dims = {{"batch", 3}}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.diag().code, Code::dim);
  EXPECT_EQ(graph.diag().text,
            "no dimension is named 'batch'; the inputs have s77 (axis 0 of 'x')");
}

TEST_F(Pt2Model, RangesAndHintsAreKept) {
  auto graph = load(kData + "torch_2_13.pt2");
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  const DimRange& range = (*graph)->dim_ranges.at("s77");
  EXPECT_EQ(range.min, 1);
  EXPECT_EQ(range.max, 16);
  EXPECT_EQ(range.hint, 3);
}

TEST_F(Pt2Model, InputsMayBecomeConstants) {
  Vectors v = read_vectors(kData + "small.npz");
  auto graph =
      load(kData + "torch_2_13.pt2", {.dims = {{"s77", 3}}, .constants = {{"x", v.inputs[0]}}});
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  EXPECT_TRUE((*graph)->inputs().empty());
  auto result = interpret(**graph, {});
  ASSERT_TRUE(result.ok());
  expect_close(v.outputs[0], result->outputs[0]);
}

TEST_F(Pt2Model, NodesAreCalledAfterTheirModules) {
  auto graph = load(kData + "torch_2_13.pt2");
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  std::vector<std::string> names;
  for (Node* n : (*graph)->nodes()) names.push_back(n->loc().names.at(0));
  EXPECT_EQ(names.front(), "conv");
  EXPECT_NE(std::find(names.begin(), names.end(), "fc"), names.end());
}

TEST_F(Pt2Model, FlippedBytesGiveAGraphOrADiagnostic) {
  std::string whole = *read_text(kData + "torch_2_13.pt2");
  size_t graphs = 0, diagnostics = 0;
  for (size_t i = 0; i < whole.size(); i += 5) {
    auto broken = std::make_shared<std::string>(whole);
    (*broken)[i] = static_cast<char>((*broken)[i] ^ (1 << (i % 8)));
    std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(broken->data()),
                                     broken->size()};
    auto archive = Archive::read(bytes, "flipped.pt2", broken);
    if (archive.ok() && import_archive(*archive).ok()) {
      ++graphs;
    } else {
      ++diagnostics;
    }
  }
  EXPECT_GT(graphs, 100u);       // payload bytes and names
  EXPECT_GT(diagnostics, 100u);  // structure
}

}  // namespace
}  // namespace qc::pt2
