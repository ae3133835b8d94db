// Ops that move elements: every element size and layout against the interpreter, shape
// computations, and what import rows make of sizes, ranges and indices.
#include "ops/common/range.h"
#include "tests/unit/op_harness.h"

namespace qc {
namespace {

constexpr DType kSizes[] = {DType::i8,  DType::f16,     DType::f32,
                            DType::f64, DType::boolean, DType::u16};
using V = std::vector<double>;

/// Runs with every mix of layouts of the first two operands; counts the runs.
int in_layouts(std::string_view op, std::vector<Operand> operands, const AttrMap& attrs) {
  int ok = 0;
  const size_t mixes = operands.size() > 1 && operands[1].tensor.rank() > 2 ? 4 : 2;
  for (size_t mix = 0; mix < mixes; ++mix) {
    operands[0].channels_last = (mix & 1) != 0;
    if (mixes == 4) operands[1].channels_last = (mix & 2) != 0;
    const Result<Tensor> r = run_both(op, operands, attrs);
    EXPECT_TRUE(r.ok()) << op << ": " << (r.ok() ? "" : render(r.diag()));
    ok += r.ok();
  }
  return ok;
}

TEST(Movement, KernelsGiveTheInterpretersBitsInEveryLayout) {
  register_all_ops();
  for (DType t : kSizes) {
    const Operand x{random_tensor(t, {2, 5, 7, 6}, 1)}, part{random_tensor(t, {2, 3, 7, 6}, 2)};
    const Operand small{random_tensor(t, {1, 2, 3, 6}, 3)}, flat{random_tensor(t, {1, 5, 1, 6}, 4)};
    for (const Ints& perm :
         {Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2}, Ints{3, 2, 1, 0}, Ints{1, 0, 3, 2}}) {
      in_layouts("transpose", {x}, {{"perm", perm}});
    }
    in_layouts(
        "slice", {x},
        {{"start", Ints{0, 1, 6, 0}}, {"size", Ints{2, 3, 4, 6}}, {"step", Ints{1, 1, -2, 1}}});
    in_layouts(
        "slice", {x},
        {{"start", Ints{1, 0, 0, 0}}, {"size", Ints{1, 5, 7, 6}}, {"step", Ints{1, 1, 1, 1}}});
    in_layouts("concat", {x, part}, {{"axis", int64_t{1}}});
    in_layouts("concat", {x, x}, {{"axis", int64_t{3}}});
    in_layouts("expand", {flat}, {{"shape", Ints{3, 5, 4, 6}}});
    in_layouts("tile", {flat}, {{"repeats", Ints{2, 2, 3, 1}}});
    in_layouts("slice_scatter", {x, small},
               {{"start", Ints{1, 0, 1, 0}}, {"step", Ints{1, 3, 2, 1}}});
    for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
      in_layouts(
          "pad", {x},
          {{"before", Ints{0, 1, 2, 0}}, {"after", Ints{0, 0, 1, 3}}, {"mode", std::string(mode)}});
    }
    in_layouts("resize", {x}, {{"size", Ints{2, 5, 3, 13}}, {"mode", std::string("nearest")}});
  }
  const Operand image{random_tensor(DType::f32, {2, 3, 6, 5}, 5)};
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* where :
         {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric",
          "tf_half_pixel_for_nn", "single_asymmetric", "single_half_pixel"}) {
      for (bool flag : {false, true}) {
        in_layouts("resize", {image},
                   {{"size", Ints{2, 3, 9, 2}},
                    {"mode", std::string(mode)},
                    {"coordinates", std::string(where)},
                    {"antialias", flag},
                    {"exclude_outside", flag}});
      }
    }
    in_layouts("resize", {image},
               {{"size", Ints{2, 3, 4, 4}},
                {"mode", std::string(mode)},
                {"coordinates", std::string("tf_crop_and_resize")},
                {"extrapolation", 9.5},
                {"roi", Floats{0, 0, -0.5, 0.25, 1, 1, 1.0, 1.5}}});
  }
}

TEST(Movement, ViewsTakeNoCalls) {
  register_all_ops();
  const auto steps = [](std::string_view op, const AttrMap& attrs,
                        Layout layout = Layout::row_major) {
    Graph g;
    Type type(DType::f32, {Dim(2), Dim(1), Dim(4), Dim(6)});
    type.layout = layout;
    Value* x = g.add_input("x", type);
    Result<Value*> y = g.emit(op, {x}, attrs, {});
    EXPECT_TRUE(y.ok());
    Result<Value*> z = g.emit("clamp", {*y}, {{"lo", 0.0}}, {});
    g.add_output("z", *z);
    Result<Program> p = lower(g);
    return p->steps.size() - 1;
  };
  EXPECT_EQ(steps("transpose", {{"perm", Ints{1, 0, 2, 3}}}), 0u);
  EXPECT_EQ(steps("transpose", {{"perm", Ints{0, 2, 3, 1}}}, Layout::channels_last), 0u);
  EXPECT_EQ(steps("transpose", {{"perm", Ints{0, 1, 3, 2}}}), 1u);
  EXPECT_EQ(
      steps("slice",
            {{"start", Ints{1, 0, 1, 0}}, {"size", Ints{1, 1, 2, 6}}, {"step", Ints{1, 1, 1, 1}}}),
      0u);
  EXPECT_EQ(
      steps("slice",
            {{"start", Ints{0, 0, 1, 0}}, {"size", Ints{2, 1, 2, 6}}, {"step", Ints{1, 1, 1, 1}}}),
      1u);
  EXPECT_EQ(steps("expand", {{"shape", Ints{2, 1, 4, 6}}}), 0u);
}

TEST(Movement, SizesPassThroughShapeComputations) {
  register_all_ops();
  Graph g;
  const Dim s = Dim::symbol("s");
  const auto emit = [&](std::string_view op, std::vector<Value*> in, const AttrMap& attrs) {
    Result<Value*> v = g.emit(op, in, attrs, {});
    EXPECT_TRUE(v.ok());
    return *v;
  };
  const auto ints = [&](const Ints& v) {
    return g.constant(Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(v.size())}, v));
  };
  Value* sizes = emit("dims", {}, {{"values", Dims{Dim(2), s, Dim(7)}}});
  Value* picked = emit("gather", {sizes, ints({-1, 1})}, {});
  EXPECT_EQ(known_ints(picked), (Dims{Dim(7), s}));
  Value* joined = emit("concat", {picked, ints({5})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(known_ints(joined), (Dims{Dim(7), s, Dim(5)}));
  Value* back =
      emit("slice", {joined}, {{"start", Ints{2}}, {"size", Ints{2}}, {"step", Ints{-1}}});
  EXPECT_EQ(known_ints(back), (Dims{Dim(5), s}));
  Value* twice = emit("tile", {back}, {{"repeats", Ints{2}}});
  EXPECT_EQ(known_ints(twice), (Dims{Dim(5), s, Dim(5), s}));
  Value* wide = emit("expand", {ints({3})}, {{"shape", Ints{3}}});
  EXPECT_EQ(known_ints(wide), (Dims{Dim(3), Dim(3), Dim(3)}));
  Value* counted = emit("iota", {}, {{"start", s}, {"size", Dim(3)}});
  EXPECT_EQ(known_ints(counted), (Dims{s, s + Dim(1), s + Dim(2)}));
}

class Ranges : public ::testing::Test {
 protected:
  std::string range(const Dim& extent, std::optional<Dim> start, std::optional<Dim> end,
                    int64_t step) {
    ForeignNode node;
    Import import(graph_, node);
    Result<Range> r = resolve_range(import, extent, start, end, step);
    if (!r.ok()) return "error";
    return r->start.str() + " : " + r->size.str() + " : " + r->step.str();
  }
  Graph graph_;
};

TEST_F(Ranges, NumbersFollowPython) {
  EXPECT_EQ(range(10, Dim(2), Dim(INT64_MAX), 1), "2 : 8 : 1");
  EXPECT_EQ(range(10, Dim(-3), Dim(-1), 1), "7 : 2 : 1");
  EXPECT_EQ(range(10, Dim(-100), Dim(100), 3), "0 : 4 : 3");
  EXPECT_EQ(range(10, Dim(8), Dim(2), 1), "0 : 0 : 1");
  EXPECT_EQ(range(10, Dim(20), Dim(30), 1), "0 : 0 : 1");
  EXPECT_EQ(range(10, Dim(20), Dim(0), -4), "9 : 3 : -4");
  EXPECT_EQ(range(10, Dim(-1), Dim(INT64_MIN), -1), "9 : 10 : -1");
  EXPECT_EQ(range(10, std::nullopt, std::nullopt, -3), "9 : 4 : -3");
  EXPECT_EQ(range(10, Dim(0), Dim(3), 0), "error");
}

TEST_F(Ranges, SymbolsStayExactWhereTheyAreKnownToFit) {
  const Dim s = Dim::symbol("s");
  EXPECT_EQ(range(s, Dim(0), Dim(INT64_MAX), 1), "0 : s : 1");
  EXPECT_EQ(range(s, Dim(0), Dim(1), 1), "0 : 1 : 1");
  EXPECT_EQ(range(s, Dim(0), Dim(128), 1), "0 : min(128, s) : 1");
  EXPECT_EQ(range(512, Dim(0), s, 1), "0 : s : 1");
  EXPECT_EQ(range(s + Dim(4), s, std::nullopt, 1), "s : 4 : 1");
  EXPECT_EQ(range(s, Dim(0), Dim(-1), 1), "0 : s - 1 : 1");
  graph_.dim_ranges["s"] = {.min = 8, .max = 64, .hint = {}};
  EXPECT_EQ(range(s, Dim(-3), Dim(INT64_MAX), 1), "s - 3 : 3 : 1");
  EXPECT_EQ(range(s, Dim(0), Dim(128), 1), "0 : s : 1");
  EXPECT_TRUE(at_least(graph_, s, Dim(8)));
  EXPECT_FALSE(at_least(graph_, s, Dim(9)));
  EXPECT_TRUE(at_least(graph_, Dim(64), s));
  EXPECT_FALSE(at_least(graph_, s * s, Dim(1)));
}

/// The rows that make nodes of one foreign op.
class Rows : public ::testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }
  Value* input(Ints shape, DType dtype = DType::f32) {
    return graph_.add_input("x", Type(dtype, to_dims(shape)));
  }
  Result<Values> import(ForeignNode node) {
    const ImportRow* row = import_table().find(node.domain, node.op, node.version);
    if (!row) return error(Code::bug, "no row");
    Import m(graph_, node);
    return row->import(m);
  }
  std::string shapes(ForeignNode node) {
    Result<Values> r = import(std::move(node));
    if (!r.ok()) return std::string(info(r.diag().code).name) + ": " + r.diag().text;
    std::string out;
    for (Value* v : *r) out += (out.empty() ? "" : " ") + str(v->type());
    return out;
  }
  ForeignNode aten(std::string op, std::vector<std::pair<std::string, Arg>> args) {
    ForeignNode node;
    node.domain = "aten";
    node.op = std::move(op);
    node.args = std::move(args);
    return node;
  }
  ForeignNode onnx(std::string op, int version, Values inputs,
                   std::vector<std::pair<std::string, Arg>> args = {}) {
    ForeignNode node;
    node.op = std::move(op);
    node.version = version;
    node.inputs = std::move(inputs);
    node.args = std::move(args);
    return node;
  }
  Graph graph_;
};

TEST_F(Rows, PartsOfUnevenAxes) {
  Value* x = input({2, 7});
  EXPECT_EQ(
      shapes(aten("split.Tensor", {{"self", x}, {"split_size", int64_t{3}}, {"dim", int64_t{1}}})),
      "f32[2, 3] f32[2, 3] f32[2, 1]");
  EXPECT_EQ(
      shapes(aten("chunk.default", {{"self", x}, {"chunks", int64_t{4}}, {"dim", int64_t{-1}}})),
      "f32[2, 2] f32[2, 2] f32[2, 2] f32[2, 1]");
  EXPECT_EQ(shapes(aten("tensor_split.sections",
                        {{"self", x}, {"sections", int64_t{3}}, {"dim", int64_t{1}}})),
            "f32[2, 3] f32[2, 2] f32[2, 2]");
  ForeignNode split = onnx("Split", 18, {x}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}});
  split.outputs = 3;
  EXPECT_EQ(shapes(split), "f32[2, 3] f32[2, 3] f32[2, 1]");
  EXPECT_EQ(shapes(aten("split_with_sizes.default",
                        {{"self", x}, {"split_sizes", Ints{3, 3}}, {"dim", int64_t{1}}})),
            "shape: parts of sizes [3, 3] do not make up an axis of size 7");
}

TEST_F(Rows, NothingIsMadeForMovesThatDoNothing) {
  Value* x = input({2, 3});
  const ForeignNode nodes[] = {
      aten("slice.Tensor",
           {{"self", x}, {"dim", int64_t{0}}, {"start", int64_t{0}}, {"end", int64_t{INT64_MAX}}}),
      aten("permute.default", {{"self", x}, {"dims", Ints{0, 1}}}),
      aten("expand.default", {{"self", x}, {"size", Ints{-1, 3}}}),
      aten("clone.default", {{"self", x}}),
      aten("dropout.default", {{"input", x}, {"p", 0.1}, {"train", false}}),
      aten("cat.default", {{"tensors", Values{x}}}),
      aten("as_strided.default", {{"self", x}, {"size", Ints{2, 3}}, {"stride", Ints{3, 1}}}),
      onnx("Identity", 13, {x}),
      onnx("Dropout", 13, {x}),
  };
  for (const ForeignNode& node : nodes) {
    Result<Values> r = import(node);
    ASSERT_TRUE(r.ok()) << node.op;
    EXPECT_EQ((*r)[0], x) << node.op;
  }
  EXPECT_EQ(graph_.node_count(), 0u);
}

TEST_F(Rows, JoiningSkipsEmptyVectorsAndPromotes) {
  Value *x = input({2, 3}), *none = input({0}), *ints = input({2, 1}, DType::i64);
  Result<Values> r =
      import(aten("cat.default", {{"tensors", Values{none, x}}, {"dim", int64_t{1}}}));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ((*r)[0], x);
  EXPECT_EQ(shapes(aten("cat.default", {{"tensors", Values{x, ints}}, {"dim", int64_t{1}}})),
            "f32[2, 4]");
}

TEST_F(Rows, AdvancedIndexingPutsThePickedAxesWherePyTorchDoes) {
  Value *x = input({4, 5, 6, 7}), *i = input({3}, DType::i64), *j = input({2, 1}, DType::i64);
  const auto index = [&](Values list) {
    return shapes(aten("index.Tensor", {{"self", x}, {"indices", list}}));
  };
  EXPECT_EQ(index({i}), "f32[3, 5, 6, 7]");
  EXPECT_EQ(index({nullptr, j}), "f32[4, 2, 1, 6, 7]");
  EXPECT_EQ(index({i, j}), "f32[2, 3, 6, 7]");
  EXPECT_EQ(index({nullptr, i, j}), "f32[4, 2, 3, 7]");
  EXPECT_EQ(index({i, nullptr, j}), "f32[2, 3, 5, 7]");
  Value* mask = input({4, 5}, DType::boolean);
  EXPECT_EQ(index({mask}).substr(0, 11), "unsupported");
}

TEST_F(Rows, TrainingModeIsRefused) {
  Value* x = input({2});
  EXPECT_NE(
      shapes(aten("dropout.default", {{"input", x}, {"p", 0.5}, {"train", true}})).find(".eval()"),
      std::string::npos);
  EXPECT_NE(shapes(aten("native_dropout.default", {{"input", x}, {"p", 0.5}, {"train", true}}))
                .find(".eval()"),
            std::string::npos);
}

TEST_F(Rows, LargeFillsAreNotConstants) {
  Result<Values> small = import(aten("zeros.default", {{"size", Ints{16, 16}}}));
  Result<Values> large = import(aten("zeros.default", {{"size", Ints{1024, 1024}}}));
  Result<Values> open = import(aten("ones.default", {{"size", Dims{Dim::symbol("s"), Dim(2)}}}));
  ASSERT_TRUE(small.ok() && large.ok() && open.ok());
  EXPECT_TRUE((*small)[0]->is_constant());
  EXPECT_FALSE((*large)[0]->is_constant());
  EXPECT_EQ(str((*open)[0]->type()), "f32[s, 2]");
}

TEST_F(Rows, WrongArgumentsAreRefused) {
  Value* x = input({2, 3});
  const std::pair<ForeignNode, const char*> bad[] = {
      {aten("select.int", {{"self", x}, {"dim", int64_t{1}}, {"index", int64_t{3}}}),
       "attribute: index 3 is outside"},
      {aten("transpose.int", {{"self", x}, {"dim0", int64_t{0}}, {"dim1", int64_t{2}}}),
       "attribute: axis 2"},
      {aten("permute.default", {{"self", x}, {"dims", Ints{0, 0}}}), "attribute: perm"},
      {aten("pad.default", {{"self", x}, {"pad", Ints{1, 2, 3}}}), "attribute: 3 pads"},
      {aten("pad.default", {{"self", x}, {"pad", Ints{-2, -2}}}), "attribute: pads take more"},
      {aten("pixel_shuffle.default", {{"self", x}, {"upscale_factor", int64_t{2}}}),
       "shape: blocks of 2"},
      {aten("unfold.default",
            {{"self", x}, {"dimension", int64_t{1}}, {"size", int64_t{4}}, {"step", int64_t{1}}}),
       "shape: windows of 4"},
      {aten("arange.start_step",
            {{"start", int64_t{0}}, {"end", int64_t{4}}, {"step", int64_t{0}}}),
       "attribute: a sequence with step 0"},
      {aten("upsample_nearest2d.vec", {{"input", x}, {"scale_factors", Floats{2, 2}}}),
       "shape: cannot upsample"},
      {onnx("Slice", 9, {x}, {{"starts", Ints{0}}, {"ends", Ints{1, 2}}}),
       "attribute: 1 starts, 2 ends"},
      {onnx("Pad", 2, {x}, {{"pads", Ints{1, 1}}}), "attribute: 2 pads for 2 axes"},
      {onnx("Upsample", 7, {x}, {{"scales", Floats{2}}}), "attribute: 1 scales"},
      {onnx("Upsample", 7, {x}, {{"scales", Floats{1, -2}}}), "attribute: a scale of -2"},
  };
  for (const auto& [node, text] : bad)
    EXPECT_EQ(shapes(node).substr(0, std::strlen(text)), text) << node.op;
}

}  // namespace
}  // namespace qc
