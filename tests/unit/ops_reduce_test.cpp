// Reductions, searches and softmax: known values, and the interpreter against the kernels.
#include <cmath>

#include "quant/quant_node.h"
#include "tests/unit/op_harness.h"

namespace qc {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                            DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                            DType::u32, DType::u64, DType::boolean};
using V = std::vector<double>;

// arithmetic.md: S10
TEST(Reduce, KernelsGiveTheInterpretersBits) {
  register_all_ops();
  int runs = 0;
  for (const auto& [name, entry] : op_table().all()) {
    // Quantized forms take codes: their cases are in cases.ir and tests/random.
    if (entry.folder != "reduce" || dynamic_cast<QuantNode*>(entry.create().get())) continue;
    int here = 0;
    for (DType t : kTypes) {
      for (bool keepdims : {false, true}) {
        for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{3}, Ints{2, 3}, Ints{1, 3},
                                 Ints{0, 1, 2}, Ints{-3, 2, 3}}) {
          const AttrMap attrs = {{"axes", axes}, {"keepdims", keepdims}};
          for (bool last : {false, true}) {
            here += run_both(name, {{random_tensor(t, {2, 21, 5, 7}, 1), last}}, attrs).ok();
          }
        }
        here += run_both(name, {{random_tensor(t, {3, 100}, 2)}},
                         {{"axes", Ints{1}}, {"keepdims", keepdims}})
                    .ok();
        here += run_both(name, {{random_tensor(t, {3, 0, 4}, 3)}},
                         {{"axes", Ints{1}}, {"keepdims", keepdims}})
                    .ok();
      }
    }
    EXPECT_GT(here, 0) << name;
    runs += here;
  }
  EXPECT_GT(runs, 1000);
}

// Rows of several blocks: lying in memory, side by side, over two axes; every tail around a block.
// arithmetic.md: S4
TEST(Reduce, KernelsGiveTheInterpretersBitsOnLongRows) {
  register_all_ops();
  for (const char* op : {"reduce_sum", "reduce_l1", "reduce_l2", "reduce_prod", "reduce_max",
                         "reduce_log_sum_exp", "reduce_var"}) {
    for (DType t : {DType::f32, DType::f64, DType::f16}) {
      for (int64_t n : {1023, 1024, 1025, 1039, 1041, 2047, 2049, 3073, 5003}) {
        const uint32_t seed = static_cast<uint32_t>(n);
        for (const auto& [shape, axis] : {std::pair{Ints{2, n}, 1}, std::pair{Ints{n, 18}, 0}}) {
          EXPECT_TRUE(run_both(op, {{random_tensor(t, shape, seed)}}, {{"axes", Ints{axis}}}).ok());
        }
      }
      for (int64_t n : {341, 342, 1025}) {
        EXPECT_TRUE(run_both(op, {{random_tensor(t, {3, 2, n}, 9)}}, {{"axes", Ints{0, 2}}}).ok());
      }
    }
  }
}

// Both would be off in the third digit if added up one after the other.
// arithmetic.md: S21
TEST(Reduce, LongSumsAreAccurate) {
  register_all_ops();
  const Tensor image = random_tensor(DType::f32, {1, 2, 512, 512}, 11);
  double mean = 0;
  for (int64_t i = 0; i < 512 * 512; ++i) mean += image.as_double(i) / (512 * 512);
  const auto near = [&](const char* op, const AttrMap& attrs, bool last, double bar) {
    EXPECT_NEAR(values_of(run_both(op, {{image, last}}, attrs))[0] / mean, 1, bar) << op << last;
  };
  for (bool last : {false, true}) {
    near("average_pool", {{"output_size", Ints{1, 1}}}, last, 1e-6);
    near("reduce_mean", {{"axes", Ints{2, 3}}}, last, 1e-6);
  }
  Tensor x(DType::f32, {300000});
  double centre = 0, var = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    x.set_double(i, 1e4 + static_cast<double>(i * 7919 % 10007) / 10007);
  for (int64_t i = 0; i < x.size(); ++i) centre += x.as_double(i) / 300000;
  for (int64_t i = 0; i < x.size(); ++i) var += std::pow(x.as_double(i) - centre, 2) / 299999;
  EXPECT_NEAR(values_of(run_both("reduce_var", {{x}}))[0] / var, 1, 4e-6);
  const V sums = values_of(run_both("cumsum", {{x}}, {{"axis", int64_t{0}}}));
  EXPECT_NEAR(sums.back() / (centre * 300000), 1, 1e-6);
}

// arithmetic.md: S11
TEST(Reduce, PoolsScansAndNormsGiveTheInterpretersBitsOnLongRows) {
  register_all_ops();
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const auto run = [&](const char* op, Ints shape, AttrMap attrs, bool last = false) {
      EXPECT_TRUE(run_all(op, {{random_tensor(t, std::move(shape), 8), last}}, attrs).ok()) << op;
    };
    for (bool last : {false, true}) {
      for (const char* op : {"average_pool", "lp_pool"}) {
        run(op, {2, 19, 33, 32}, {{"output_size", Ints{1, 1}}}, last);
        run(op, {1, 17, 40, 7}, {{"output_size", Ints{3, 1}}}, last);
        for (int64_t k : {2, 4, 5, 9}) {
          run(op, {1, 17, 20, 20},
              {{"kernel", Ints{k, k}},
               {"strides", Ints{2, 3}},
               {"dilations", Ints{1, 1}},
               {"pads", Ints{1, 1, 1, 1}}},
              last);
        }
      }
    }
    for (int64_t n : {15, 16, 17, 255, 256, 257, 4096, 4099}) {
      run("cumsum", {2, n}, {{"axis", int64_t{1}}, {"exclusive", n % 2 == 0}});
      run("cumsum", {n, 3}, {{"axis", int64_t{0}}, {"reverse", true}});
    }
    for (int64_t n : {1023, 1024, 1025, 2063, 5000}) {
      run("layer_norm", {2, n}, {{"eps", 1e-5}});
      run("rms_norm", {2, n}, {{"eps", 1e-5}});
      for (const char* op : {"softmax", "log_softmax"}) {
        run(op, {2, n}, {{"axis", int64_t{1}}});
        run(op, {n, 3}, {{"axis", int64_t{0}}});
      }
    }
    run("group_norm", {2, 6, 30, 29}, {{"groups", int64_t{2}}, {"eps", 1e-5}});
  }
}

TEST(Reduce, KnownValues) {
  register_all_ops();
  const Operand x = list(DType::f32, {1, 2, 3, 4, 5, 6}, {2, 3});
  const AttrMap rows = {{"axes", Ints{1}}, {"keepdims", false}}, all = {{"keepdims", false}};
  EXPECT_EQ(values_of(run_both("reduce_sum", {x}, rows)), (V{6, 15}));
  EXPECT_EQ(values_of(run_both("reduce_mean", {x}, rows)), (V{2, 5}));
  EXPECT_EQ(values_of(run_both("reduce_var", {x}, rows)), (V{1, 1}));
  EXPECT_EQ(values_of(run_both("reduce_sum_square", {x}, rows)), (V{14, 77}));
  EXPECT_EQ(values_of(run_both("reduce_prod", {x}, all)), (V{720}));
  EXPECT_EQ(values_of(run_both("reduce_max", {x}, {{"axes", Ints{0}}, {"keepdims", false}})),
            (V{4, 5, 6}));
  AttrMap biased = rows;
  biased["correction"] = 0.0;
  EXPECT_FLOAT_EQ(static_cast<float>(values_of(run_both("reduce_var", {x}, biased))[0]), 2.0f / 3);
  const double inf = kInf;
  EXPECT_EQ(values_of(run_both("reduce_log_sum_exp", {list(DType::f32, {-inf, -inf})}, all)),
            (V{-inf}));
  EXPECT_EQ(values_of(run_both("reduce_log_sum_exp", {list(DType::f32, {1000, 1000 - 200})}, all)),
            (V{1000}));
  const Operand none = list(DType::f32, {}, {2, 0});
  EXPECT_EQ(values_of(run_both("reduce_max", {none}, rows)), (V{-inf, -inf}));
  EXPECT_EQ(values_of(run_both("reduce_all", {list(DType::boolean, {}, {1, 0})}, rows)), (V{1}));
  EXPECT_EQ(values_of(run_both("reduce_mean", {list(DType::i32, {-3, -4})}, all)), (V{-3}));
}

TEST(Reduce, RefusesWhatDoesNotFit) {
  register_all_ops();
  const Operand x = list(DType::f32, {1, 2});
  EXPECT_EQ(code_of(run_both("reduce_sum", {x}, {{"axes", Ints{1}}})), Code::attribute);
  EXPECT_EQ(code_of(run_both("reduce_sum", {x}, {{"axes", Ints{0, -1}}})), Code::attribute);
  EXPECT_EQ(code_of(run_both("reduce_any", {x})), Code::type);
  EXPECT_EQ(code_of(run_both("reduce_var", {list(DType::i32, {1})})), Code::type);
}

// arithmetic.md: S2
TEST(Reduce, OrdersOfConvolutionsAreChecked) {
  register_all_ops();
  const Operand x = list(DType::f32, {1, 2, 3, 4}, {1, 2, 2}),
                w = list(DType::f32, {1, 2}, {1, 2, 1});
  const auto code = [&](std::string order, int64_t block) {
    return code_of(run_both("conv", {x, w},
                            {{"strides", Ints{1}},
                             {"dilations", Ints{1}},
                             {"pads", Ints{0, 0}},
                             {"order", std::move(order)},
                             {"block", block}}));
  };
  EXPECT_EQ(code("rows", 1), Code::attribute);
  EXPECT_EQ(code("channels", 0), Code::attribute);
  EXPECT_EQ(code("channels", -1), Code::attribute);
  EXPECT_EQ(code("channels", int64_t{1} << 31), Code::attribute);
  EXPECT_EQ(code("quads", 4), Code::attribute);
  EXPECT_EQ(code("taps", 4), Code::attribute);
  const Operand wide = list(DType::f64, {1, 2, 3, 4}, {1, 2, 2});
  EXPECT_EQ(code_of(run_both("conv", {wide, list(DType::f64, {1, 2}, {1, 2, 1})},
                             {{"strides", Ints{1}},
                              {"dilations", Ints{1}},
                              {"pads", Ints{0, 0}},
                              {"order", std::string("quads")}})),
            Code::type);
}

// arithmetic.md: S11
TEST(Reduce, SearchesAndScansGiveTheInterpretersBits) {
  register_all_ops();
  for (const char* op : {"argmax", "argmin", "sort", "cumsum", "cumprod", "cummax", "cummin"}) {
    int runs = 0;
    for (DType t : kTypes) {
      for (int64_t axis : {0, 1, -1}) {
        for (bool flag : {false, true}) {
          AttrMap attrs = {{"axis", axis}};
          const std::string_view name(op);
          if (name == "sort") attrs["k"] = Dim(3), attrs["descending"] = flag;
          if (name.starts_with("arg")) attrs["select_last"] = flag, attrs["keepdims"] = flag;
          if (name == "cumsum" || name == "cumprod")
            attrs["exclusive"] = flag, attrs["reverse"] = axis == 0;
          runs += run_all(op, {{random_tensor(t, {3, 37, 5}, 4)}}, attrs).ok();
        }
      }
    }
    EXPECT_GE(runs, 72) << op;
  }
  EXPECT_TRUE(run_all("histogram", {{random_tensor(DType::f32, {200}, 5)}},
                      {{"bins", int64_t{7}}, {"low", -1.0}, {"high", 2.0}})
                  .ok());
}

TEST(Reduce, SearchesAndScansKnownValues) {
  register_all_ops();
  const double nan = std::nan("");
  const Operand x = list(DType::f32, {2, 5, 1, 5, 1});
  const auto at = [&](const char* op, const Operand& v, bool last) {
    return values_of(
        run_both(op, {v}, {{"axis", int64_t{0}}, {"keepdims", false}, {"select_last", last}}));
  };
  EXPECT_EQ(at("argmax", x, false), (V{1}));
  EXPECT_EQ(at("argmax", x, true), (V{3}));
  EXPECT_EQ(at("argmin", x, true), (V{4}));
  const Operand with_nan = list(DType::f32, {2, nan, 7, nan});
  EXPECT_EQ(at("argmax", with_nan, false), (V{1}));
  EXPECT_EQ(at("argmin", with_nan, false), (V{1}));
  const auto order = [&](const Operand& v, bool descending) {
    auto r =
        run_all("sort", {v}, {{"axis", int64_t{0}}, {"k", Dim(4)}, {"descending", descending}});
    return r.ok() ? values_of((*r)[1]) : V{};
  };
  EXPECT_EQ(order(x, true), (V{1, 3, 0, 2}));
  EXPECT_EQ(order(x, false), (V{2, 4, 0, 1}));
  EXPECT_EQ(order(with_nan, true), (V{1, 3, 2, 0}));
  EXPECT_EQ(order(with_nan, false), (V{0, 2, 1, 3}));
  EXPECT_EQ(values_of(run_both("cumsum", {x},
                               {{"axis", int64_t{0}}, {"exclusive", true}, {"reverse", true}})),
            (V{12, 7, 6, 1, 0}));
  EXPECT_EQ(values_of(run_both("histogram", {list(DType::f32, {0, 1, 2, 3, 3, 9})},
                               {{"bins", int64_t{4}}, {"low", 0.0}, {"high", 3.0}})),
            (V{1, 1, 1, 2}));
  EXPECT_EQ(code_of(run_both("sort", {x}, {{"axis", int64_t{0}}, {"k", Dim(9)}})), Code::attribute);
}

TEST(Softmax, KernelsGiveTheInterpretersBits) {
  register_all_ops();
  for (const char* op : {"softmax", "log_softmax"}) {
    for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (int64_t axis : {0, 1, 2, 3}) {
        for (bool last : {false, true}) {
          EXPECT_TRUE(
              run_both(op, {{random_tensor(t, {2, 21, 3, 35}, 6), last}}, {{"axis", axis}}).ok());
        }
      }
    }
  }
  const V y = values_of(
      run_both("softmax", {list(DType::f32, {1000, 1000, -kInf})}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(y, (V{0.5, 0.5, 0}));
  EXPECT_EQ(code_of(run_both("softmax", {list(DType::i32, {1})}, {{"axis", int64_t{0}}})),
            Code::type);
}

}  // namespace
}  // namespace qc
