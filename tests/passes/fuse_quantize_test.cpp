// fuse_quantize changes no bit: every op that can write codes itself, with every kind of quantize
// after it, fused and not, interpreted, as a program in process and in C.
#include "passes/fuse_quantize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "driver/arrays.h"
#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "passes/fuse_prologues.h"
#include "program/run.h"
#include "tests/random/agree.h"

namespace qc {
namespace {

/// What computes %2 from the inputs %0 and %1 of one shape, and what else is returned.
struct Producer {
  const char* name;
  const char* text;       // C stands for the size of the last axis, A for that of the axis before
  const char* more = "";  // further results of the graph
  bool is_image = false;  // of rank 4
  bool is_even = false;   // rows have an even number of elements
};
constexpr Producer kProducers[] = {
    {"rms", "%2 = rms_norm(%0, @g) {eps = 1e-06}"},
    {"rms_bare", "%2 = rms_norm(%0) {eps = 0.03}"},
    {"layer", "%2 = layer_norm(%0, @g, @b) {eps = 1e-12}"},
    {"layer_scale", "%2 = layer_norm(%0, @g) {eps = 0.00001}"},
    {"layer_shift", "%2 = layer_norm(%0, _, @b) {eps = 0.00001}"},
    {"layer_axes", "%2 = layer_norm(%0) {axis = 1, eps = 0.001}"},
    {"group", "%2 = group_norm(%0, @h, @h) {groups = 2, eps = 0.00001}", "", true},
    {"instance", "%2 = group_norm(%0) {groups = 6, eps = 0.00001}", "", true},
    {"softmax", "%2 = softmax(%0) {axis = -1}"},
    {"softmax_middle", "%2 = softmax(%0) {axis = 1}"},
    {"softmax_masked", "%2 = softmax(%0) {axis = -1, zero = \"masked\"}"},
    {"softmax_nan", "%2 = softmax(%0) {axis = 0, zero = \"nan\"}"},
    {"silu", "%2 = silu(%0)"},
    {"gelu", "%2 = gelu(%0)"},
    {"gelu_tanh", "%2 = gelu_tanh(%0)"},
    {"gelu_quick", "%2 = gelu_quick(%0)"},
    {"sigmoid", "%2 = sigmoid(%0)"},
    {"tanh", "%2 = tanh(%0)"},
    {"relu", "%2 = clamp(%0) {lo = 0.0}"},
    {"swiglu", "%10 = silu(%0) %2 = mul(%10, %1)"},
    {"rotary", "%2 = rotary(%0, @g, @b)", "", false, true},
    {"rotary_norm", "%2 = rotary(%0, @g, @b, @g) {interleaved = true, norm = true, eps = 0.001}",
     "", false, true},
    {"reglu", "%10 = clamp(%0) {lo = 0.0} %2 = mul(%10, %1)"},
    {"geglu", "%10 = gelu_tanh(%0) %2 = mul(%1, %10)"},
    {"residual_rms", "%10 = add(%0, %1) %2 = rms_norm(%10, @g) {eps = 1e-05}"},
    {"residual_rms_sum", "%10 = add(%0, %1) %2 = rms_norm(%10, @g) {eps = 1e-05}", "%10, "},
    {"rms_floats", "%2 = rms_norm(%0, @g) {eps = 1e-05}", "%2, "},
    {"residual_layer_floats", "%10 = add(%0, %1) %2 = layer_norm(%10, @g, @b) {eps = 1e-05}",
     "%2, "},
    {"residual_layer_all", "%10 = add(%0, %1) %2 = layer_norm(%10) {eps = 1e-05} %11 = neg(%2)",
     "%10, %11, "},
    {"residual_layer_read",
     "%10 = add(%0, %1) %11 = neg(%10) %2 = layer_norm(%10, @g, @b) {eps = 1e-05}", "%11, "},
};

struct Shape {
  Ints dims;
  std::string text() const { return fmt::format("f32[{}]", fmt::join(dims, ", ")); }
};

std::string scales(int64_t count, std::mt19937_64& random) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) {
    out += fmt::format("{}{}", i ? ", " : "", 0.004 + 0.001 * static_cast<double>(random() % 50));
  }
  return "[" + out + "]";
}
std::string zeros(int64_t count, std::mt19937_64& random) {
  std::string out;
  for (int64_t i = 0; i < count; ++i)
    out += fmt::format("{}{}", i ? ", " : "", static_cast<int64_t>(random() % 40) - 20);
  return "[" + out + "]";
}

/// A quantize of %2 with results %3 and on.
constexpr int kQuantizeEpilogues = 15;
std::string epilogue(int which, const Shape& shape, std::mt19937_64& random) {
  const auto known = [](std::string to, const char* arithmetic = "exact") {
    return fmt::format("%3 = quantize(%2) {{to = {}, arithmetic = \"{}\"}}", to, arithmetic);
  };
  const auto dynamic = [](const char* how) {
    return fmt::format("%3, %4, %5 = quantize_dynamic(%2) {{{}}}", how);
  };
  const int64_t rank = std::ssize(shape.dims);
  const auto per_axis = [&](int64_t axis, bool with_zeros) {
    const int64_t n = shape.dims[static_cast<size_t>(axis)];
    return known(fmt::format("i8 q(-127, 127, axis={}, scale={}{})", axis, scales(n, random),
                             with_zeros ? ", zero=" + zeros(n, random) : ""));
  };
  switch (which) {
    case 0:
      return known("i8 q(-128, 127, scale=0.021, zero=3)");
    case 1:
      return known("u8 q(0, 255, scale=0.0173, zero=100)", "torch");
    case 2:
      return known("i16 q(-32768, 32767, scale=0.0001)");
    case 3:
      return known("u16 q(0, 65535, scale=0.0002, zero=30000)");
    case 4:
      return known("i4 q(-8, 7, scale=0.3)");
    case 5:
      return per_axis(rank - 1, false);
    case 6:
      return per_axis(rank - 1, true);
    case 7:
      return per_axis(0, true);
    case 8: {
      const int64_t n = shape.dims.back(), group = 1 + n / 3;
      int64_t count = (n + group - 1) / group;
      for (int64_t i = 0; i + 1 < rank; ++i) count *= shape.dims[static_cast<size_t>(i)];
      return known(fmt::format("i8 q(-127, 127, axis={}, group={}, scale={})", rank - 1, group,
                               scales(count, random)));
    }
    case 9:
      return dynamic("to = u8");
    case 10:
      return dynamic("to = i8, symmetric = true");
    case 11:
      return dynamic("to = i8, symmetric = true, per_token = true");
    case 12:
      return dynamic("to = u8, per_token = true");
    case 13:
      return dynamic("to = i16, symmetric = true, per_token = true");
    default:
      return dynamic("to = u16");
  }
}

const std::vector<Shape> kShapes = {
    {{3, 7, 33}}, {{2, 2, 64}}, {{1, 1, 1500}}, {{4, 2, 1}}, {{1, 5, 130}}};
const std::vector<Shape> kImages = {{{2, 6, 5, 7}}, {{1, 6, 1, 33}}};
const std::vector<Shape> kEven = {{{3, 7, 34}}, {{2, 2, 64}}, {{1, 1, 1500}}, {{4, 2, 2}}};

const std::vector<Shape>& shapes_of(const Producer& p) {
  return p.is_image ? kImages : p.is_even ? kEven : kShapes;
}

std::string numbers(int64_t n, std::mt19937_64& random) {
  std::string out;
  for (int64_t i = 0; i < n; ++i) {
    out += fmt::format("{}{}", i ? ", " : "", static_cast<double>(random() % 400) / 100.0 - 2.0);
  }
  return fmt::format("f32[{}] = [{}]", n, out);
}

std::string graph_text(const Producer& p, int which, const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string quantize = epilogue(which, shape, random);
  const bool is_dynamic = quantize.find("_dynamic") != std::string::npos;
  const int64_t c = shape.dims.back();
  return fmt::format("@g : {}\n@b : {}\n@h : {}\n", numbers(c, random), numbers(c, random),
                     numbers(6, random)) +
         fmt::format("graph (%0 \"x\" : {}, %1 \"r\" : {}) {{\n{}\n{}\nreturn {}{}\n}}\n",
                     shape.text(), shape.text(), p.text, quantize, p.more,
                     is_dynamic ? "%3, %4, %5" : "%3");
}

/// Inputs with rows of zeros, infinities and NaNs among them.
std::vector<Tensor> inputs_for(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs = random_inputs(graph, seed).value();
  const int64_t n = inputs[0].shape().back();
  std::mt19937_64 random(seed);
  float* x = inputs[0].mutable_data<float>();
  if (random() % 3 == 0) std::fill(x, x + n, 0.0f);
  if (random() % 3 == 0) x[random() % static_cast<uint64_t>(inputs[0].size())] = -INFINITY;
  if (random() % 5 == 0) x[random() % static_cast<uint64_t>(inputs[0].size())] = NAN;
  return inputs;
}

/// The graph fused and not: nothing converts any more, and the same bits.
void expect_same_bits(const std::string& text, uint64_t seed) {
  auto plain = parse(text);
  ASSERT_TRUE(plain.ok()) << render(plain.diag()) << text;
  auto fused = copy(**plain);
  ASSERT_TRUE(fused.ok());
  PassContext context;
  auto changed = fuse_quantize(**fused, context);
  ASSERT_TRUE(changed.ok()) << render(changed.diag()) << text;
  ASSERT_TRUE(*changed) << text << fmt::format("{}", fmt::join(context.remarks, "\n"));
  ASSERT_TRUE(verify(**fused).ok()) << print(**fused);
  for (const Node* n = (*fused)->first(); n; n = n->next()) {
    EXPECT_FALSE(n->op().starts_with("quantize")) << print(**fused);
  }
  const std::vector<Tensor> inputs = inputs_for(**plain, seed);
  auto expected = interpret(**plain, inputs);
  ASSERT_TRUE(expected.ok()) << render(expected.diag());
  auto interpreted = interpret(**fused, inputs);
  ASSERT_TRUE(interpreted.ok()) << render(interpreted.diag());
  EXPECT_EQ(first_difference(interpreted->outputs, expected->outputs), "") << print(**fused);
  Options portable;
  portable.target = "portable";
  auto program = make_program(**fused, portable);
  ASSERT_TRUE(program.ok()) << render(program.diag()) << print(**fused);
  auto run = run_program(*program, inputs);
  ASSERT_TRUE(run.ok()) << render(run.diag());
  EXPECT_EQ(first_difference(run->outputs, expected->outputs), "") << print(**fused);
}

class FuseQuantize : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }
};

// arithmetic.md: Q19
TEST_F(FuseQuantize, EveryOpWithEveryQuantizeEpilogue) {
  uint64_t seed = 1;
  for (const Producer& p : kProducers) {
    for (const Shape& shape : shapes_of(p)) {
      for (int which = 0; which < kQuantizeEpilogues; ++which) {
        SCOPED_TRACE(fmt::format("{} {} ending {}", p.name, shape.text(), which));
        // The parameters of "layer_axes" are those of all its axes: it has none.
        expect_same_bits(graph_text(p, which, shape, seed), seed);
        if (HasFatalFailure()) return;
        ++seed;
      }
    }
  }
}

/// In C, a few of each.
// arithmetic.md: Q19
TEST_F(FuseQuantize, InC) {
  const auto make = [](uint64_t seed) {
    const Producer& p = kProducers[seed % std::size(kProducers)];
    const auto& shapes = shapes_of(p);
    const int which =
        static_cast<int>(seed / std::size(kProducers) * 4 + seed) % kQuantizeEpilogues;
    return std::move(parse(graph_text(p, which, shapes[seed % shapes.size()], seed))).value();
  };
  expect_agreement("fuse_quantize", 0, 3 * std::ssize(kProducers), {}, make);
}

int count(const Graph& graph, std::string_view part) {
  int found = 0;
  for (const Node* n = graph.first(); n; n = n->next()) {
    found += n->op().find(part) != std::string_view::npos ? 1 : 0;
  }
  return found;
}

/// The graph after the pass, and why something was left.
std::unique_ptr<Graph> fused(const std::string& text, std::string* why = nullptr) {
  auto graph = std::move(parse(text)).value();
  PassContext context;
  EXPECT_TRUE(fuse_quantize(*graph, context).ok());
  EXPECT_TRUE(verify(*graph).ok()) << print(*graph);
  if (why) *why = fmt::format("{}", fmt::join(context.remarks, "\n"));
  return graph;
}

/// Norms of any epsilon and type of codes: nothing is fixed at 1e-6 and int8.
TEST_F(FuseQuantize, AnyEpsilonAndType) {
  const Shape shape{{2, 3, 40}};
  for (const char* eps : {"0.0", "1e-12", "1e-06", "0.00001", "0.1", "7.0"}) {
    for (int which : {0, 1, 2, 9, 11, 12, 13}) {
      const Producer p{"rms", "%2 = rms_norm(%0, @g) {eps = EPS}"};
      std::string text = graph_text(p, which, shape, 5);
      text.replace(text.find("EPS"), 3, eps);
      expect_same_bits(text, 5);
    }
  }
}

TEST_F(FuseQuantize, ASumThatOthersReadIsReturned) {
  const auto graph = fused(R"(graph (%0 "x" : f32[2, 8], %1 "r" : f32[2, 8]) {
    %2 = add(%0, %1)
    %3 = silu(%2)
    %4 = rms_norm(%2) {eps = 0.1}
    %5, %6, %7 = quantize_dynamic(%4) {to = i8, symmetric = true, per_token = true}
    %8 = add(%2, %3)
    return %5, %6, %8
  })");
  EXPECT_EQ(count(*graph, "rms_norm_quantize_dynamic"), 1) << print(*graph);
  EXPECT_EQ(count(*graph, "add"), 1) << print(*graph);
}

TEST_F(FuseQuantize, ABroadcastOrLimitedSumStays) {
  for (const char* sum : {"add(%0, %1)", "add(%0, %0) {lo = 0.0}"}) {
    const auto graph = fused(fmt::format(R"(graph (%0 "x" : f32[2, 8], %1 "r" : f32[1, 8]) {{
      %2 = {} %3 = rms_norm(%2) {{eps = 0.1}} %4 = quantize(%3) {{to = i8 q(-128, 127, scale=0.1)}} return %4
    }})",
                                         sum));
    EXPECT_EQ(count(*graph, "add"), 1) << print(*graph);
    EXPECT_EQ(count(*graph, "rms_norm_quantize"), 1) << print(*graph);
  }
}

/// As after the norms of BERT: the result of a norm is the residual of what follows.
TEST_F(FuseQuantize, ANormThatOthersReadReturnsItsFloats) {
  const auto graph = fused(R"(graph (%0 "x" : f32[2, 8], %1 "r" : f32[2, 8]) {
    %2 = add(%0, %1) %3 = layer_norm(%2) {eps = 0.1}
    %4 = silu(%3)
    %5, %6, %7 = quantize_dynamic(%3) {to = u8}
    %8 = add(%3, %4)
    return %2, %5, %6, %8
  })");
  EXPECT_EQ(count(*graph, "layer_norm_quantize_dynamic"), 1) << print(*graph);
  EXPECT_EQ(count(*graph, "add"), 1) << print(*graph);
}

TEST_F(FuseQuantize, AnActivationReadAsFloatsStays) {
  std::string why;
  const auto graph = fused(R"(graph (%0 "x" : f32[2, 8]) {
    %1 = gelu(%0) %2 = quantize(%1) {to = i8 q(-128, 127, scale=0.1)} return %1, %2
  })",
                           &why);
  EXPECT_EQ(count(*graph, "activation"), 0);
  EXPECT_NE(why.find("others read its result too"), std::string::npos) << why;
}

TEST_F(FuseQuantize, StatisticsAndGroupsThatTearTokensStay) {
  std::string why;
  fused(R"(graph (%0 "x" : f32[2, 8]) {
    %1, %2 = rms_norm(%0) {eps = 0.1, statistics = true} %3 = quantize(%1) {to = i8 q(-128, 127, scale=0.1)} return %2, %3
  })",
        &why);
  EXPECT_NE(why.find("its statistics are read too"), std::string::npos) << why;
  fused(R"(graph (%0 "x" : f32[2, 8]) {
    %1 = group_norm(%0) {groups = 2, eps = 0.1}
    %2, %3, %4 = quantize_dynamic(%1) {to = i8, symmetric = true, per_token = true} return %2, %3
  })",
        &why);
  EXPECT_NE(why.find("its groups are parts of rows"), std::string::npos) << why;
}

/// Every pair of a norm and a rotation that did not become one is named, and what kept it apart.
TEST_F(FuseQuantize, NormsBesideRotationsSayWhy) {
  const auto why = [](const std::string& norm, const std::string& results) {
    auto graph = std::move(parse(fmt::format(R"(graph (%0 "x" : f32[2, 8], %1 "c" : f32[8]) {{
      {} loc("norm") %3 = rotary(%2, %1, %1) loc("turn") %4 = quantize(%3) {{to = i8 q(-128, 127, scale=0.1)}} return {}
    }})",
                                             norm, results)))
                     .value();
    PassContext context;
    EXPECT_TRUE(fuse_prologues(*graph, context).ok());
    return fmt::format("{}", fmt::join(context.remarks, "\n"));
  };
  const std::string plain = "%2 = rms_norm(%0) {eps = 0.1}";
  EXPECT_EQ(why(plain, "%4"), "fuse_prologues: 1 node fused");
  const std::string stays = "fuse_prologues: rms_norm 'norm' stays beside rotary 'turn': ";
  EXPECT_EQ(why(plain, "%3, %4"), stays + "what it turns is read as floats, too");
  EXPECT_EQ(why(plain, "%2, %4"), stays + "others read its result too");
  EXPECT_EQ(why("%2 = rms_norm(%0, %1) {eps = 0.1}", "%4"),
            stays + "its factors are found at run time");
  EXPECT_EQ(why("%2 = rms_norm(%0) {axis = 0, eps = 0.1}", "%4"),
            stays + "its rows are not those that turn");
  EXPECT_EQ(
      why("%2 = layer_norm(%0) {eps = 0.1}", "%4"),
      "fuse_prologues: layer_norm 'norm' stays beside rotary 'turn': it has a mean or a shift");
}

/// The gate of a SwiGLU that is read twice is computed once, and its product stays float.
TEST_F(FuseQuantize, AnActivationThatOthersReadStays) {
  std::string why;
  const auto graph = fused(R"(graph (%0 "a" : f32[2, 8], %1 "b" : f32[2, 8]) {
    %2 = silu(%0) %3 = mul(%2, %1) %4 = quantize(%3) {to = i8 q(-128, 127, scale=0.1)} return %2, %4
  })",
                           &why);
  EXPECT_EQ(count(*graph, "mul"), 1);
  EXPECT_NE(why.find("others read its activation too"), std::string::npos) << why;
}

}  // namespace
}  // namespace qc
