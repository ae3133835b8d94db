// Elementwise ops: known values, and the interpreter against the kernels, bit for bit, for every
// op, type and way of broadcasting.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/run.h"

namespace qc {
namespace {

Tensor random_tensor(DType dtype, Ints shape, uint32_t seed) {
  std::mt19937 rng(seed);
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) {
    const double u = static_cast<double>(rng()) / 4294967296.0;
    if (dtype == DType::boolean) t.set_int(i, u < 0.5);
    else if (is_float(dtype)) t.set_double(i, i % 13 == 5 ? -0.0 : (u - 0.4) * 6);
    else t.set_int(i, static_cast<int64_t>(u * 14) - (is_signed(dtype) ? 6 : 0));
  }
  return t;
}

/// Row-major elements in the order of a channels-last value, or back.
Tensor reordered(const Tensor& t, bool to_channels_last) {
  const Ints& s = t.shape();
  Tensor out(t.dtype(), s);
  const int64_t channels = s[1];
  int64_t inner = 1;
  for (size_t i = 2; i < s.size(); ++i) inner *= s[i];
  const auto size = static_cast<int64_t>(bytes(t.dtype()));
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < inner; ++i) {
        int64_t from = (n * channels + c) * inner + i, to = (n * inner + i) * channels + c;
        if (!to_channels_last) std::swap(from, to);
        std::memcpy(out.mutable_bytes().data() + to * size, t.bytes().data() + from * size,
                    static_cast<size_t>(size));
      }
    }
  }
  return out;
}

struct Operand {
  Tensor tensor;
  bool channels_last = false;
};

/// Runs one op in the interpreter and through its kernels; both must give the same bits.
Result<Tensor> run_both(std::string_view op, const std::vector<Operand>& operands,
                        const AttrMap& attrs = {}) {
  Graph plain;
  std::vector<Value*> values;
  std::vector<Tensor> inputs, physical;
  for (const Operand& o : operands) {
    values.push_back(plain.add_input("x", Type(o.tensor.dtype(), to_dims(o.tensor.shape()))));
    inputs.push_back(o.tensor);
  }
  QC_ASSIGN(Value * y, plain.emit(op, values, attrs, {}));
  plain.add_output("y", y);
  QC_ASSIGN(RunResult expected, interpret(plain, inputs));

  Graph laid_out(plain.shared_pool());
  values.clear();
  for (const Operand& o : operands) {
    Type type(o.tensor.dtype(), to_dims(o.tensor.shape()));
    if (o.channels_last) type.layout = Layout::channels_last;
    values.push_back(laid_out.add_input("x", type));
    physical.push_back(o.channels_last ? reordered(o.tensor, true) : o.tensor);
  }
  QC_ASSIGN(y, laid_out.emit(op, values, attrs, {}));
  laid_out.add_output("y", y);
  QC_ASSIGN(Program program, lower(laid_out));
  QC_ASSIGN(ProgramResult result, run_program(program, physical));
  Tensor got = y->type().layout == Layout::channels_last ? reordered(result.outputs[0], false)
                                                         : result.outputs[0];
  EXPECT_EQ(got.dtype(), expected.outputs[0].dtype());
  const auto a = got.bytes(), b = expected.outputs[0].bytes();
  EXPECT_TRUE(a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0)
      << op << " of " << name(operands[0].tensor.dtype());
  return expected.outputs[0];
}

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16, DType::i32,
                            DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};

int run_folder(std::string_view folder, const std::vector<std::vector<Operand>>& (*make)(DType)) {
  int runs = 0;
  for (const auto& [name, entry] : op_table().all()) {
    if (entry.folder != folder) continue;
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

TEST(Elementwise, BinaryKernelsGiveTheInterpretersBits) {
  register_all_ops();
  const int runs = run_folder("binary", [](DType t) -> const std::vector<std::vector<Operand>>& {
    static std::vector<std::vector<Operand>> cases;
    const auto r = [t](Ints shape, uint32_t seed) { return random_tensor(t, std::move(shape), seed); };
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
      ASSERT_TRUE(run_both("where", {{c, last}, {random_tensor(t, {2, 5, 3, 4}, 2), last},
                                     {random_tensor(t, {}, 3)}}).ok());
      ASSERT_TRUE(run_both("where", {{c, last}, {random_tensor(t, {1}, 2)},
                                     {random_tensor(t, {2, 5, 3, 4}, 3), last}}).ok());
      ASSERT_TRUE(run_both("where", {{random_tensor(DType::boolean, {3, 1}, 1)},
                                     {random_tensor(t, {5, 1, 1}, 2)},
                                     {random_tensor(t, {2, 5, 3, 4}, 3), last}}).ok());
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
  auto kept = run_both("cast", {{huge}}, {{"to", DType::f8e4m3}});
  auto open = run_both("cast", {{huge}}, {{"to", DType::f8e4m3}, {"saturate", false}});
  ASSERT_TRUE(kept.ok() && open.ok());
  EXPECT_EQ(kept->as_double(0), 448);
  EXPECT_TRUE(std::isnan(open->as_double(0)));
}

std::vector<double> values_of(const Result<Tensor>& t) {
  std::vector<double> out;
  if (!t.ok()) return out;
  for (int64_t i = 0; i < t->size(); ++i) out.push_back(t->as_double(i));
  return out;
}

Operand list(DType dtype, std::vector<double> values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set_double(static_cast<int64_t>(i), values[i]);
  return {t};
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
  EXPECT_EQ(values_of(run_both("shrink", {list(DType::f32, {-2, 0.25, 2})}, {{"lambd", 0.5}, {"bias", 0.5}})),
            (V{-1.5, 0, 1.5}));
  EXPECT_EQ(values_of(run_both("leaky_relu", {list(DType::f32, {-2, 3})}, {{"alpha", 0.25}})), (V{-0.5, 3}));
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(values_of(run_both("max", {list(DType::f32, {nan}), list(DType::f32, {1})}))[0]));
  EXPECT_EQ(values_of(run_both("eq", {list(DType::f32, {nan, 1}), list(DType::f32, {nan, 1})})), (V{0, 1}));
}

TEST(Elementwise, RefusesWhatDoesNotFit) {
  register_all_ops();
  const auto code = [](const Result<Tensor>& r) { return r.ok() ? Code::bug : r.diag().code; };
  EXPECT_EQ(code(run_both("add", {list(DType::f32, {1, 2}), list(DType::f32, {1, 2, 3})})), Code::shape);
  EXPECT_EQ(code(run_both("add", {list(DType::f32, {1}), list(DType::i32, {1})})), Code::type);
  EXPECT_EQ(code(run_both("exp", {list(DType::i32, {1})})), Code::type);
  EXPECT_EQ(code(run_both("logical_and", {list(DType::f32, {1}), list(DType::f32, {1})})), Code::type);
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
