// Elementwise ops: known values, and the interpreter against the kernels, bit for bit, for every
// op, type and way of broadcasting.
#include <cmath>

#include "quant/quant_node.h"
#include "tests/unit/op_harness.h"

namespace qc {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                            DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                            DType::u32, DType::u64, DType::boolean};

int run_folder(std::string_view folder, const std::vector<std::vector<Operand>>& (*make)(DType)) {
  int runs = 0;
  for (const auto& [name, entry] : op_table().all()) {
    // Quantized forms take codes: their cases are in cases.ir and tests/random.
    if (entry.folder != folder || dynamic_cast<QuantNode*>(entry.create().get())) continue;
    int here = 0;
    for (DType dtype : kTypes) {
      for (const std::vector<Operand>& operands : make(dtype)) {
        here += run_both(name, operands).ok();
      }
    }
    EXPECT_GT(here, 0) << name << " ran on no type";
    runs += here;
  }
  return runs;
}

// arithmetic.md: G5
TEST(Elementwise, UnaryKernelsGiveTheInterpretersBits) {
  register_all_ops();
  const int runs = run_folder("unary", [](DType t) -> const std::vector<std::vector<Operand>>& {
    static std::vector<std::vector<Operand>> cases;
    cases = {{{random_tensor(t, {3, 5, 7}, 1)}},
             {{random_tensor(t, {2, 3, 4, 5}, 2), true}},
             {{random_tensor(t, {}, 3)}},
             {{random_tensor(t, {0, 4}, 4)}}};
    return cases;
  });
  EXPECT_GT(runs, 1000);
}

// arithmetic.md: G5
TEST(Elementwise, BinaryKernelsGiveTheInterpretersBits) {
  register_all_ops();
  const int runs = run_folder("binary", [](DType t) -> const std::vector<std::vector<Operand>>& {
    static std::vector<std::vector<Operand>> cases;
    const auto r = [t](Ints shape, uint32_t seed) {
      return random_tensor(t, std::move(shape), seed);
    };
    cases = {
        {{r({3, 5, 7}, 1)}, {r({3, 5, 7}, 2)}},
        {{r({3, 5, 7}, 3)}, {r({}, 4)}},
        {{r({1}, 5)}, {r({3, 5}, 6)}},
        {{r({3, 5, 7}, 7)}, {r({7}, 8)}},
        {{r({2, 5, 3, 3}, 9)}, {r({5, 1, 1}, 10)}},
        {{r({4, 1, 3}, 11)}, {r({2, 1, 5, 1}, 12)}},
        {{r({0, 3}, 13)}, {r({3}, 14)}},
        {{r({2, 5, 3, 4}, 15), true}, {r({2, 5, 3, 4}, 16), true}},
        {{r({2, 5, 3, 4}, 17), true}, {r({5, 1, 1}, 18)}},
        {{r({2, 5, 3, 4}, 19), true}, {r({2, 5, 3, 4}, 20)}},
        {{r({}, 21)}, {r({2, 5, 3, 4}, 22), true}},
        {{r({2, 5, 1, 1}, 23), true}, {r({2, 5, 3, 4}, 24), true}},
        {{r({2, 1, 2, 1, 2, 1, 2, 3}, 25)}, {r({1, 2, 1, 2, 1, 2, 1, 3}, 26)}},
    };
    return cases;
  });
  EXPECT_GT(runs, 2500);
}

TEST(Elementwise, WhereTakesEveryType) {
  register_all_ops();
  for (DType t : kTypes) {
    const Tensor c = random_tensor(DType::boolean, {2, 5, 3, 4}, 1);
    for (bool last : {false, true}) {
      ASSERT_TRUE(run_both("where", {{c, last},
                                     {random_tensor(t, {2, 5, 3, 4}, 2), last},
                                     {random_tensor(t, {}, 3)}})
                      .ok());
      ASSERT_TRUE(run_both("where", {{c, last},
                                     {random_tensor(t, {1}, 2)},
                                     {random_tensor(t, {2, 5, 3, 4}, 3), last}})
                      .ok());
      ASSERT_TRUE(run_both("where", {{random_tensor(DType::boolean, {3, 1}, 1)},
                                     {random_tensor(t, {5, 1, 1}, 2)},
                                     {random_tensor(t, {2, 5, 3, 4}, 3), last}})
                      .ok());
    }
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  register_all_ops();
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const Tensor x = random_tensor(static_cast<DType>(from), {2, 3, 4, 5}, 7);
      auto y = run_both("cast", {{x}}, {{"to", static_cast<DType>(to)}});
      ASSERT_TRUE(y.ok()) << name(static_cast<DType>(from)) << " " << name(static_cast<DType>(to));
    }
  }
  const Tensor huge = Tensor::of<float>(DType::f32, {2}, std::vector<float>{1e9f, 1.0f});
  auto retained = run_both("cast", {{huge}}, {{"to", DType::f8e4m3}});
  auto open = run_both("cast", {{huge}}, {{"to", DType::f8e4m3}, {"saturate", false}});
  ASSERT_TRUE(retained.ok() && open.ok());
  EXPECT_EQ(retained->as_double(0), 448);
  EXPECT_TRUE(std::isnan(open->as_double(0)));
}

TEST(Elementwise, KnownValues) {
  register_all_ops();
  using V = std::vector<double>;
  const Operand a = list(DType::i32, {7, -7, 7, -7}), b = list(DType::i32, {2, 2, -2, -2});
  EXPECT_EQ(values_of(run_both("div", {a, b})), (V{3, -3, -3, 3}));
  EXPECT_EQ(values_of(run_both("floor_div", {a, b})), (V{3, -4, -4, 3}));
  EXPECT_EQ(values_of(run_both("mod", {a, b})), (V{1, 1, -1, -1}));
  EXPECT_EQ(values_of(run_both("fmod", {a, b})), (V{1, -1, 1, -1}));
  EXPECT_EQ(values_of(run_both("square", {list(DType::f32, {-3, 1.5})})), (V{9, 2.25}));
  EXPECT_EQ(values_of(run_both("shrink", {list(DType::f32, {-2, 0.25, 2})},
                               {{"lambd", 0.5}, {"bias", 0.5}})),
            (V{-1.5, 0, 1.5}));
  EXPECT_EQ(values_of(run_both("leaky_relu", {list(DType::f32, {-2, 3})}, {{"alpha", 0.25}})),
            (V{-0.5, 3}));
  const double nan = std::nan("");
  EXPECT_TRUE(
      std::isnan(values_of(run_both("max", {list(DType::f32, {nan}), list(DType::f32, {1})}))[0]));
  EXPECT_EQ(values_of(run_both("eq", {list(DType::f32, {nan, 1}), list(DType::f32, {nan, 1})})),
            (V{0, 1}));
}

TEST(Elementwise, RefusesWhatDoesNotFit) {
  register_all_ops();
  EXPECT_EQ(code_of(run_both("add", {list(DType::f32, {1, 2}), list(DType::f32, {1, 2, 3})})),
            Code::shape);
  EXPECT_EQ(code_of(run_both("add", {list(DType::f32, {1}), list(DType::i32, {1})})), Code::type);
  EXPECT_EQ(code_of(run_both("exp", {list(DType::i32, {1})})), Code::type);
  EXPECT_EQ(code_of(run_both("logical_and", {list(DType::f32, {1}), list(DType::f32, {1})})),
            Code::type);
}

TEST(Elementwise, ShapeArithmeticStaysSymbolic) {
  register_all_ops();
  Graph g;
  Value* two = g.constant(Tensor::of<int64_t>(DType::i64, {1}, std::vector<int64_t>{2}));
  Value* six = g.constant(Tensor::of<int64_t>(DType::i64, {1}, std::vector<int64_t>{6}));
  auto sum = g.emit("add", {six, two}, {}, {});
  auto half = g.emit("div", {*sum, two}, {}, {});
  auto narrow = g.emit("cast", {*half}, {{"to", DType::i32}}, {});
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(*known_ints(*narrow), (Dims{4}));
}

}  // namespace
}  // namespace qc
