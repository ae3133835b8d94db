// Padding to buckets changes no bit, interpreted and as a program; what cannot be padded is refused
// by its name; buckets chosen from sizes as they occur pad less than powers of two.
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/buckets.h"
#include "driver/compile.h"
#include "driver/sized_program.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "program/bind.h"
#include "program/run.h"
#include "support/budget.h"
#include "tests/ops/cases.h"

namespace qc {
namespace {

constexpr int64_t kLow = 2, kHigh = 40;

Result<std::unique_ptr<Graph>> parsed(const std::string& body) {
  QC_ASSIGN(auto graph, parse(body));
  for (const std::string& symbol : graph->symbols())
    graph->dim_ranges[symbol] = {kLow, kHigh, {}, 1};
  return graph;
}

Options bucketed(const Graph& graph, std::vector<int64_t> buckets, bool own_size) {
  Options options;
  options.target = "portable";
  options.verify = true;
  for (const std::string& symbol : graph.symbols()) {
    const bool padded = symbol[0] == 's';
    options.ranges[symbol] = {kLow, kHigh, 1,       padded ? buckets : std::vector<int64_t>(),
                              0,    {},    own_size};
  }
  return options;
}

void expect_identical(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, int64_t s,
                      const Graph& padded) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i].identical(wanted[i])) << "output " << i << " at " << s << print(padded);
}

Result<Ok> expect_same_bits(const Graph& graph, const std::vector<int64_t>& buckets,
                            bool own_size) {
  const Options options = bucketed(graph, buckets, own_size);
  PassContext context;
  QC_ASSIGN(context.buckets, buckets_of(graph, options, context));
  QC_ASSIGN(auto padded, copy(graph));
  QC_ASSIGN(const Pass* pass, find_pass("pad_to_buckets"));
  QC_TRY(run_pass(*pass, *padded, context));
  QC_TRY(verify(*padded));
  QC_ASSIGN(auto own, copy(graph));
  QC_ASSIGN(const Program program, make_program(*own, options));
  for (int64_t s : {2, 3, 5, 8, 9, 16, 17, 33, 40}) {
    Bindings sizes;
    for (const std::string& symbol : graph.symbols()) sizes[symbol] = symbol[0] == 's' ? s : 3;
    std::vector<Tensor> inputs;
    for (const Value* v : graph.inputs()) {
      Ints shape;
      for (const Dim& d : v->shape()) shape.push_back(d.substitute(sizes).value());
      inputs.push_back(testing::random_tensor(v->dtype(), shape, inputs.size() + 1));
    }
    QC_ASSIGN(const RunResult expected, interpret(graph, inputs));
    QC_ASSIGN(const RunResult interpreted, interpret(*padded, inputs));
    expect_identical(interpreted.outputs, expected.outputs, s, *padded);
    QC_ASSIGN(const auto run, run_program(bound(program, sizes), inputs));
    expect_identical(run.outputs, expected.outputs, s, *padded);
  }
  return Ok{};
}

std::string failure(const std::string& body, bool own_size = false) {
  auto graph = parsed(body);
  if (!graph.ok()) return render(graph.diag());
  auto done = make_program(**graph, bucketed(**graph, {8, kHigh}, own_size));
  return done.ok() ? "" : done.diag().text + (done.diag().code == Code::unsupported ? "" : "?");
}

class PadToBucketsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { register_all_ops(); }
};

void expect_no_bit_changes(const char* body, bool own_size) {
  auto graph = parsed(body);
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  for (const auto& buckets : {std::vector<int64_t>{5, 16, kHigh}, std::vector<int64_t>{kHigh}}) {
    auto same = expect_same_bits(**graph, buckets, own_size);
    EXPECT_TRUE(same.ok()) << render(same.diag());
  }
}

TEST_P(PadToBucketsTest, ChangesNoBit) { expect_no_bit_changes(GetParam(), false); }

class OwnSizeTest : public PadToBucketsTest {};

TEST_P(OwnSizeTest, ChangesNoBit) {
  expect_no_bit_changes(GetParam(), true);
  EXPECT_NE(failure(GetParam()).find("cannot be padded to the buckets of 's'"), std::string::npos);
}

#define QC_ROW(out, ...) "graph (%0 \"x\" : f32[b, s, 8]) { %1 = " __VA_ARGS__ " return " out " }"

INSTANTIATE_TEST_SUITE_P(
    , PadToBucketsTest,
    ::testing::Values(
        QC_ROW("%1", "softmax(%0) {axis = 1}"), QC_ROW("%1", "log_softmax(%0) {axis = 1}"),
        QC_ROW("%1", "reduce_sum(%0) {axes = [1]}"),
        QC_ROW("%1", "reduce_sum(%0) {axes = [1, 2], keepdims = false}"),
        QC_ROW("%1", "reduce_max(%0) {axes = [1]}"), QC_ROW("%1", "reduce_min(%0) {axes = [1]}"),
        QC_ROW("%1", "reduce_prod(%0) {axes = [1]}"), QC_ROW("%1", "reduce_l2(%0) {axes = [1]}"),
        QC_ROW("%1", "reduce_mean(%0) {axes = [2]}"), QC_ROW("%1", "cumsum(%0) {axis = 1}"),
        QC_ROW("%1", "argmin(%0) {axis = 1}"),
        QC_ROW("%1", "slice(%0) {start = [0, 1, 0], size = [#(b), #(s - 1), 8], step = [1, 1, 1]}"),
        QC_ROW("%1", "slice(%0) {start = [0, #(s - 2), 0], size = [#(b), 2, 8], step = [1, 1, 1]}"),
        QC_ROW("%2", "transpose(%0) {perm = [0, 2, 1]} %2 = matmul(%1, %0)"),
        QC_ROW("%2", "transpose(%0) {perm = [0, 2, 1]} %2 = matmul(%0, %1)"),
        QC_ROW("%1", "matmul(%0, %0) {transpose_b = true}"),
        QC_ROW("%3",
               "reshape(%0) {shape = [#(b * s), 8]} %2 = sin(%1) "
               "%3 = reshape(%2) {shape = [#(b), #(s), 8]}"),
        QC_ROW("%2", "iota() {size = #(s), dtype = f32} %2 = reshape(%1) {shape = [1, #(s), 1]}"),
        QC_ROW("%2", "iota() {size = #(41 - s)} %2 = cast(%1) {to = f32}"),
        QC_ROW("%2", "iota() {size = #(s + mod(-s, 8))} %2 = cast(%1) {to = f32}"),
        QC_ROW("%2", "dims() {values = [#(s)]} %2 = cast(%1) {to = f32}"),
        "graph (%0 \"x\" : f32[b, 2, s, 8]) { %1 = attention(%0, %0, %0) return %1 }",
        "graph (%0 \"x\" : f32[b, 2, s, 8]) { %1 = attention(%0, %0, %0) {right = 0} return %1 }",
        "graph (%0 \"x\" : f32[b, 2, s, 8], %1 \"m\" : f32[b, 1, 1, s]) "
        "{ %2 = attention(%0, %0, %0, %1) return %2 }",
        "graph (%0 \"x\" : f32[b, 2, s, 8], %1 \"m\" : f32[s, s]) "
        "{ %2 = attention(%0, %0, %0, %1) return %2 }",
        // Two dimensions with buckets.
        "graph (%0 \"x\" : f32[s, s1, 4]) { %1 = softmax(%0) {axis = 0} "
        "%2 = softmax(%1) {axis = 1} return %2, %1 }",
        // Codes.
        "graph (%0 \"x\" : i8[s, 8] q(-128, 127, scale=0.5, zero=3)) { %1 = transpose(%0) {perm = "
        "[1, 0]} %2 = qmatmul(%1, %0) {to = f32} return %2 }",
        "graph (%0 \"x\" : f32[b, s, 8]) { %1, %2, %3 = quantize_dynamic(%0) {to = i8, symmetric = "
        "true, per_token = true} %4 = dequantize(%1, %2, %3) return %4, %2 }",
        // Scales of values are filled, zero points stay where they lie between those of other
        // heads.
        "graph (%0 \"x\" : f32[b, s, 2, 8]) { %1, %2, %3 = quantize_dynamic(%0) {to = i8, "
        "per_token = "
        "true} %4 = transpose(%1) {perm = [0, 2, 1, 3]} %5 = transpose(%2) {perm = [0, 2, 1, 3]} "
        "%6 = transpose(%3) {perm = [0, 2, 1, 3]} %7 = qattention(%4, %4, %4, _, %5, %6, %5, %6, "
        "%5, %6) {to = f32} return %7 }"));

// What cannot be padded takes the run's own size, and what follows may be padded again.
INSTANTIATE_TEST_SUITE_P(
    , OwnSizeTest,
    ::testing::Values(
        QC_ROW("%2", "softmax(%0) {axis = 1} %2 = reduce_var(%1) {axes = [1]}"),
        QC_ROW("%3",
               "softmax(%0) {axis = 1} %2 = concat(%1, %0) {axis = 1} "
               "%3 = softmax(%2) {axis = 1}"),
        // The larger the size, the fewer elements there are.
        "graph (%0 \"x\" : f32[b, s, 8], %1 \"y\" : f32[41]) { %2 = softmax(%0) {axis = 1} %3 = "
        "slice(%1) {start = [#(s)], size = [#(41 - s)], step = [1]} return %2, %3 }",
        "graph (%0 \"x\" : f32[b, s, 8]) { %1, %2 = sort(%0) {axis = 1, k = 2} return %1, %2 }",
        QC_ROW("%2",
               "slice(%0) {start = [0, #(s - 1), 0], size = [#(b), #(s), 8], step = [1, -1, "
               "1]} %2 = softmax(%1) {axis = 1}"),
        // Rows around their end.
        QC_ROW(
            "%4",
            "slice(%0) {start = [0, 0, 0], size = [#(b), #(mod(-3, s)), 8], step = [1, 1, 1]} %2 "
            "= slice(%0) {start = [0, #(mod(-3, s)), 0], size = [#(b), #(s - mod(-3, s)), 8], "
            "step = [1, 1, 1]} %3 = concat(%2, %1) {axis = 1} %4 = softmax(%3) {axis = 1}"),
        // A table for each number of elements.
        "graph (%0 \"x\" : i8[b, s, 8] q(-128, 127, scale=0.125)) { %1 = qsoftmax(%0) {to = i8 "
        "q(-128, 127, scale=0.00390625, zero=-128), arithmetic = \"onnxruntime\", axis = 1} %2 = "
        "dequantize(%1) %3 = softmax(%2) {axis = 1} return %3 }",
        // Codes with scales of rows, padded again along an axis of two factors.
        "graph (%0 \"x\" : f32[b, s, 2, 8]) { %1 = concat(%0, %0) {axis = 1} %2, %3, %4 = "
        "quantize_dynamic(%1) {to = i8, per_token = true} %5 = transpose(%2) {perm = [0, 2, 1, 3]} "
        "%6 = transpose(%3) {perm = [0, 2, 1, 3]} %7 = transpose(%4) {perm = [0, 2, 1, 3]} %8, %9, "
        "%10 = quantize_dynamic(%0) {to = i8, per_token = true} %11 = transpose(%8) {perm = [0, 2, "
        "1, 3]} %12 = transpose(%9) {perm = [0, 2, 1, 3]} %13 = transpose(%10) {perm = [0, 2, 1, "
        "3]} %14 = qattention(%11, %5, %5, _, %12, %13, %6, %7, %6, %7) {to = f32} %15 = iota() "
        "{size = #(2*s), dtype = f32} return %14, %15 }",
        // One is cut back that was joined with another.
        QC_ROW("%4",
               "softmax(%0) {axis = 1} %2 = reshape(%1) {shape = [#(b * s), 8]} "
               "%3 = softmax(%2) {axis = 0} %4 = matmul(%2, %3) {transpose_b = true}"),
        "graph (%0 \"x\" : f32[s, b, 4], %1 \"w\" : f32[1, 8, 4], %2 \"r\" : f32[1, 8, 2], %3 "
        "\"b\" "
        ": f32[1, 16]) { %4 = softmax(%0) {axis = 0} %5, %6, %7 = lstm(%4, %1, %2, %3) return %5, "
        "%6, %7 }"));

// Windows at borders that the run's own size decides on, and means of its own elements.
INSTANTIATE_TEST_SUITE_P(
    Windows, PadToBucketsTest,
    ::testing::Values(
        QC_ROW("%2", "softmax(%0) {axis = 1} %2 = reduce_mean(%1) {axes = [1]}"),
        QC_ROW("%1", "reduce_mean(%0) {axes = [1, 2]}"),
        QC_ROW("%2", "reduce_mean(%0) {axes = [0, 1]} %2 = matmul(%0, %0) {transpose_b = true}"),
        QC_ROW("%1", "reduce_sum(%0) {axes = [0, 1]}"),
        QC_ROW("%1", "reduce_log_sum_exp(%0) {axes = [0, 1]}"),
        QC_ROW("%2", "softmax(%0) {axis = 1} %2 = reshape(%1) {shape = [#(b * s), 8]}"),
        "graph (%0 \"x\" : f32[s, 2, 40, 40], %1 \"w\" : f32[3, 2, 3, 3]) { %2 = conv(%0, %1) "
        "{strides = [2, 2], dilations = [1, 1], pads = [1, 1, 1, 1]} %3 = reshape(%2) {shape = "
        "[#(3 * s), 400]} return %3 }",
        "graph (%0 \"x\" : f32[b, 2, s, s1], %1 \"w\" : f32[3, 2, 3, 3]) { %2 = conv(%0, %1) "
        "{strides = [2, 2], dilations = [1, 1], pads = [1, 1, 1, 1]} %3 = sin(%2) %4 = "
        "reduce_mean(%3) {axes = [2, 3]} %5 = reduce_sum(%3) {axes = [3]} return %4, %3, %5 }",
        "graph (%0 \"x\" : f32[b, 2, s, s], %1 \"w\" : f32[2, 1, 3, 3]) { %2 = conv(%0, %1) "
        "{strides = [1, 1], dilations = [2, 1], pads = [2, 0, 1, 3], groups = 2} %3 = "
        "reduce_mean(%2) {axes = [2, 3]} return %3, %2 }",
        "graph (%0 \"x\" : f32[b, 2, s, 8]) { %1 = max_pool(%0) {kernel = [2, 2], strides = [1, "
        "1], dilations = [1, 1], pads = [0, 0, 0, 0]} return %1 }",
        "graph (%0 \"x\" : f32[b, 2, s, 8]) { %1 = average_pool(%0) {kernel = [3, 3], strides = "
        "[2, 2], dilations = [1, 1], pads = [1, 1, 1, 1]} return %1 }",
        "graph (%0 \"x\" : f32[b, 2, s1, s]) { %1 = average_pool(%0) {output_size = [1, 1]} %2 = "
        "max_pool(%0) {output_size = [2, 1]} %3 = lp_pool(%0) {kernel = [2, 2], strides = [1, 2], "
        "dilations = [1, 1], pads = [0, 0, 1, 1]} return %1, %2, %3 }",
        "graph (%0 \"x\" : i8[b, 2, s, s1] q(-128, 127, scale=0.5, zero=3)) { %1 = qavg_pool(%0) "
        "{kernel = [3, 3], strides = [1, 1], dilations = [1, 1], pads = [1, 1, 1, 1], to = i8 "
        "q(-128, 127, scale=0.25, zero=-5)} %2 = qmean(%1) {axes = [2, 3], to = i8 q(-128, 127, "
        "scale=0.125)} %3 = qmean(%1) {axes = [2, 3], to = i8 q(-128, 127, scale=0.125), "
        "arithmetic = \"exact,rescale=q31\"} return %1, %2, %3 }",
        "graph (%0 \"x\" : f32[b, s, 8]) { %1, %2, %3 = quantize_dynamic(%0) {to = u8} "
        "%4 = dequantize(%1, %2, %3) %5 = softmax(%4) {axis = 1} return %5, %2 }"));

TEST_F(PadToBucketsTest, SaysWhatTakesTheRunsOwnSize) {
  const auto said = [](const std::string& body) {
    auto graph = parsed(body);
    const Options options = bucketed(**graph, {8, kHigh}, true);
    PassContext context;
    context.buckets = *buckets_of(**graph, options, context);
    context.remarks.clear();
    EXPECT_TRUE(run_pass(**find_pass("pad_to_buckets"), **graph, context).ok());
    std::string out;
    for (const std::string& line : context.remarks) out += line + "\n";
    for (const std::string& line : context.warnings) out += "warning: " + line + "\n";
    return out;
  };
  EXPECT_EQ(said(QC_ROW("%2", "softmax(%0) {axis = 1} %2 = reduce_var(%1) {axes = [1]}")),
            "reduce_var cannot be padded along 's': it counts the elements; it takes the run's "
            "own size\n");
  EXPECT_NE(said(QC_ROW("%1", "reduce_var(%0) {axes = [1]}"))
                .find("warning: buckets of 's' pad no layer"),
            std::string::npos);
}

TEST_F(PadToBucketsTest, RefusesByName) {
  const char* const resized =
      "graph (%0 \"x\" : f32[1, 1, s, 4]) { %1 = resize(%0) {size = [1, 1, #(2*s), 8], mode = "
      "\"nearest\"} return %1 }";
  EXPECT_EQ(
      failure(resized, true),
      "'resize' needs numbers for its sizes, and x has shape [1, 1, s, 4]: give --dim s=SIZE");
  EXPECT_NE(failure(resized).find("1 layer cannot be padded to the buckets of 's'"),
            std::string::npos);
}

TEST_F(PadToBucketsTest, ChosenBucketsPadLessThanPowersOfTwo) {
  std::vector<int64_t> observed;
  for (int64_t i = 0; i < 200; ++i) observed.push_back(i % 10 == 0 ? 90 + i : 18 + i % 4);
  const auto work = [](int64_t s) { return static_cast<double>(1000 * s + 4 * s * s); };
  const auto padded = [&](const std::vector<int64_t>& buckets) {
    double sum = 0;
    for (int64_t size : observed)
      sum += work(*std::lower_bound(buckets.begin(), buckets.end(), size));
    return sum;
  };
  const std::vector<int64_t> powers{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  const std::vector<int64_t> chosen = choose_buckets(observed, 512, 4, work);
  EXPECT_LE(chosen.size(), 4u);
  EXPECT_EQ(chosen.back(), 512);
  EXPECT_LT(padded(chosen), 0.8 * padded(powers));
  // No choice of as many sizes does less.
  for (int64_t a = 18; a < 60; ++a) {
    for (int64_t b = a + 1; b < 290; b += 7) EXPECT_LE(padded(chosen), padded({a, b, 289, 512}));
  }
}

/// Runs in process have the buckets of a compiled program, so that they show its mistakes.
TEST_F(PadToBucketsTest, RunsInProcessHaveTheBuckets) {
  auto graph = parsed(QC_ROW("%1", "softmax(%0) {axis = 1}"));
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  const auto fits = [&](const Options& options) {
    const auto programs = SizedProgram::create(**graph, options);
    EXPECT_TRUE(programs.ok() && programs->serves_all());
    const auto program = programs->at({{"b", 3}, {"s", 5}});
    EXPECT_TRUE(program.ok());
    int64_t out = 0;
    for_each_step(program->steps, [&](const Step& s) {
      out += s.call() && s.call()->kernel->name == "pad_or_trim" ? 1 : 0;
    });
    return out;
  };
  const Options options = bucketed(**graph, {8, kHigh}, false);
  EXPECT_GT(fits(options), 0);
  EXPECT_EQ(fits(without_buckets(options)), 0);
}

/// Places that follow sizes are found for many copies of a graph with the work of a small file.
TEST_F(PadToBucketsTest, SmallestPlansOfTwoDimensionsAreFound) {
  auto graph = parsed(
      "graph (%0 \"x\" : f32[s, s1, 8]) { %1 = softmax(%0) {axis = 0} %2 = concat(%1, %0) {axis = "
      "1} %3 = reshape(%0) {shape = [#(s), 1, #(s1), 8]} %4 = expand(%3) {shape = [#(s), 2, #(s1), "
      "8]} %5 = softmax(%0) {axis = 1} %6 = concat(%5, %1) {axis = 2} %7 = softmax(%6) {axis = 0} "
      "return %2, %4, %7 }");
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  Options options = bucketed(**graph, {2, 4, 8, 16, 24, kHigh}, true);
  options.plan = "smallest";
  options.verify = false;
  Budget budget;
  const auto program = within(&budget, [&] { return make_program(**graph, options); });
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_FALSE(program->arena_symbols.empty());
  EXPECT_LT(budget.spent(Cost::terms), budget.limit(Cost::terms) / 2);
}

}  // namespace
}  // namespace qc
