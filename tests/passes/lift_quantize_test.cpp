// What lift_quantize says of quantizes that it leaves apart, and that it knows no format by name: a
// quantize of groups that only this test has moves as its groups allow.
#include <gtest/gtest.h>

#include "interp/eval.h"
#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "passes/pipeline.h"
#include "quant/lifting.h"
#include "tests/random/agree.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

/// f32 to codes with one power of two for each `group` elements of the last axis, as blocked
/// formats have it. `extra` is an operand that changes nothing, and may be defined late.
class QuantizeGroups final : public OpNode<QuantizeGroups>, public MakesCodes {
 public:
  static const OpInfo kInfo;
  int64_t group = 4;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("group", group); }
  std::string parameters() const override { return std::to_string(group); }
  std::unique_ptr<Node> with_scales(const Format&) const override { return clone(); }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    Format format;
    format.qmin = -127;
    format.granularity = Granularity::group;
    format.axis = x.rank() - 1;
    format.group = group;
    format.scale = Component::at_run_time();
    const Dims scales = scale_shape(format, x.shape);
    return std::vector<Type>{Type(QType{DType::i8, std::make_shared<Format>(format)}, x.shape),
                             Type(DType::f32, scales)};
  }
  Result<Ok> eval(EvalContext& c) const override {
    const int64_t n = c.in(0).shape().back(), groups = (n + group - 1) / group;
    for (int64_t i = 0; i < c.in(0).size() / n * groups; ++i) {
      const int64_t first = i / groups * n + i % groups * group;
      const int64_t last = std::min(first + group, (i / groups + 1) * n);
      float most = 0x1p-20f;
      for (int64_t k = first; k < last; ++k) {
        most = std::max(most, std::abs(c.in(0).data<float>()[k]));
      }
      const float scale = most / 127.0f;
      c.out(1).mutable_data<float>()[i] = scale;
      for (int64_t k = first; k < last; ++k) {
        c.out(0).set_int(k, std::lrint(c.in(0).data<float>()[k] / scale));
      }
    }
    return Ok{};
  }
  Result<Ok> lower(Lowering&) const override {
    return error(Code::unsupported, loc(), "only in tests");
  }
};

const OpInfo QuantizeGroups::kInfo = {
    .name = "test_quantize_groups",
    .min_inputs = 1,
    .max_inputs = 2,
    .outputs = 2,
    .traits = kKeepsConstant,
    .summary = "for tests: codes with a scale per group of the last axis",
};

class LiftQuantize : public testing::Test {
 protected:
  void SetUp() override {
    register_all_ops();
    if (op_table().find(QuantizeGroups::kInfo.name)) return;
    op_table().add(
        {&QuantizeGroups::kInfo, [] { return std::make_unique<QuantizeGroups>(); }, "test"});
  }

  /// The graph after the pass, which changes no output; remarks are kept.
  std::string lifted(const std::string& text) {
    auto g = parse(text);
    EXPECT_TRUE(g.ok()) << render(g.diag());
    if (!g.ok()) return {};
    auto plain = copy(**g);
    PassContext context;
    auto pass = find_pass("lift_quantize");
    auto done = run_pass(**pass, **g, context);
    EXPECT_TRUE(done.ok() && verify(**g).ok()) << print(**g);
    for (const std::string& line : context.remarks) remarks_ += line + "\n";
    const std::vector<Tensor> inputs = random_tensors(**g, 1);
    auto want = interpret(**plain, inputs), got = interpret(**g, inputs);
    EXPECT_TRUE(want.ok() && got.ok());
    if (want.ok() && got.ok()) {
      EXPECT_EQ(first_difference(got->outputs, want->outputs), "");
    }
    return print(**g);
  }
  static size_t count(const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
  bool remarked(const std::string& line) { return remarks_.find(line) != std::string::npos; }

  std::string remarks_;
};

TEST_F(LiftQuantize, GroupsOfAnUnknownFormatMoveAsWholeGroups) {
  const std::string after = lifted(R"(graph (%0 "x" : f32[2, 3, 8]) {
  %1 = exp(%0)
  %2 = reshape(%1) {shape = [12, 4]}
  %3, %4 = test_quantize_groups(%2) {group = 4}
  %5 = dequantize(%3, %4)
  %6 = transpose(%1) {perm = [1, 0, 2]}
  %7, %8 = test_quantize_groups(%6) {group = 4}
  %9 = dequantize(%7, %8)
  %10 = slice(%1) {start = [0, 0, 4], size = [2, 3, 4], step = [1, 1, 1]}
  %11, %12 = test_quantize_groups(%10) {group = 4}
  %13 = dequantize(%11, %12)
  return %5, %9, %13, %12
}
)");
  EXPECT_EQ(count(after, "test_quantize_groups("), 1u) << after;
}

TEST_F(LiftQuantize, GroupsThatAViewTearsApartStay) {
  const std::string after = lifted(R"(graph (%0 "x" : f32[2, 6]) {
  %1 = exp(%0)
  %2 = reshape(%1) {shape = [3, 4]}  loc("torn")
  %3, %4 = test_quantize_groups(%2) {group = 4}  loc("a")
  %5 = dequantize(%3, %4)
  %6 = transpose(%1) {perm = [1, 0]}  loc("transposed")
  %7, %8 = test_quantize_groups(%6) {group = 4}  loc("b")
  %9 = dequantize(%7, %8)
  %10 = slice(%1) {start = [0, 2], size = [2, 4], step = [1, 1]}  loc("across")
  %11, %12 = test_quantize_groups(%10) {group = 4}  loc("c")
  %13 = dequantize(%11, %12)
  %14, %15 = test_quantize_groups(%1) {group = 4}  loc("d")
  %16 = dequantize(%14, %15)
  return %5, %9, %13, %16
}
)");
  EXPECT_EQ(count(after, "test_quantize_groups("), 4u) << after;
  EXPECT_TRUE(
      remarked("test_quantize_groups 'a' stays below reshape 'torn': elements that share a "
               "scale would no longer lie together"))
      << remarks_;
  EXPECT_TRUE(remarked("'b' stays below transpose 'transposed': elements that share")) << remarks_;
  EXPECT_TRUE(remarked("'c' stays below slice 'across': its scale would be found from other"))
      << remarks_;
}

/// A row without elements has a scale, but no group of another row.
TEST_F(LiftQuantize, RowsWithoutElementsStay) {
  const std::string after = lifted(R"(graph (%0 "x" : f32[3, 1]) {
  %1 = slice(%0) {start = [0, 0], size = [3, 0], step = [1, 1]}  loc("none")
  %2 = concat(%0, %1) {axis = 1}  loc("both")
  %3, %4, %5 = quantize_dynamic(%2) {to = u8, per_token = true}
  %6 = dequantize(%3, %4, %5)
  return %6
}
)");
  EXPECT_EQ(count(after, "quantize_dynamic("), 1u) << after;
  EXPECT_TRUE(remarked("stays below concat 'both'")) << remarks_;
}

/// An operand that is defined after the source, and after the first view of it.
TEST_F(LiftQuantize, WhatIsReadIsDefinedBefore) {
  const std::string after = lifted(R"(graph (%0 "x" : f32[2, 8], %1 "y" : f32[1]) {
  %2 = exp(%0)
  %3 = reshape(%2) {shape = [4, 4]}
  %4 = exp(%1)
  %5, %6 = test_quantize_groups(%3, %4) {group = 4}
  %7 = dequantize(%5, %6)
  %8, %9 = test_quantize_groups(%2, %4) {group = 4}
  %10 = dequantize(%8, %9)
  %11, %12 = test_quantize_groups(%2, %1) {group = 4}
  %13 = dequantize(%11, %12)
  return %7, %10, %13
}
)");
  EXPECT_EQ(count(after, "test_quantize_groups("), 2u) << after;
}

TEST_F(LiftQuantize, RemarksNameEveryPairThatDidNotJoin) {
  lifted(R"(graph (%0 "x" : f32[2, 3, 8], %1 "i" : i64[2, 3, 8]) {
  %2 = exp(%0)  loc("norm")
  %3, %4, %5 = quantize_dynamic(%2) {to = i8, per_token = true}  loc("q_proj")
  %6 = dequantize(%3, %4, %5)
  %7, %8, %9 = quantize_dynamic(%2) {to = u8}  loc("k_proj")
  %10 = dequantize(%7, %8, %9)
  %11 = slice(%2) {start = [0, 0, 0], size = [1, 3, 8], step = [1, 1, 1]}  loc("first")
  %12 = quantize(%11) {to = i8 q(-128, 127, scale=0.5)}  loc("head")
  %13 = dequantize(%12)
  %14 = transpose(%2) {perm = [0, 2, 1]}  loc("transposed")
  %15 = quantize(%14) {to = i8 q(-128, 127, scale=0.25)}  loc("other")
  %16 = dequantize(%15)
  %17 = gather_elements(%2, %1) {axis = 0}  loc("picked")
  %18 = quantize(%17) {to = i8 q(-128, 127, scale=0.25)}  loc("embedded")
  %19 = dequantize(%18)
  return %6, %10, %13, %16, %14, %19
}
)");
  EXPECT_TRUE(
      remarked("quantize_dynamic 'k_proj' stays apart from quantize_dynamic 'q_proj', "
               "which quantizes the same value otherwise: u8 q(0, 255, scale=dynamic, "
               "zero=dynamic) and i8 q("))
      << remarks_;
  EXPECT_TRUE(
      remarked("quantize 'head' stays below slice 'first': more elements would be "
               "quantized than now"))
      << remarks_;
  EXPECT_TRUE(
      remarked("quantize 'other' stays below transpose 'transposed': others read its result as "
               "floats"))
      << remarks_;
  EXPECT_TRUE(remarked(
      "quantize 'embedded' stays below gather_elements 'picked': which elements it takes is "
      "known at run time only"))
      << remarks_;
}

TEST_F(LiftQuantize, CanBeLeftOutAndSaysSo) {
  auto g = parse("graph (%0 : f32[2]) { %1 = exp(%0) return %1 }");
  PassOptions options;
  options.disabled = {"lift_quantize"};
  PassContext context;
  ASSERT_TRUE(run_passes(**g, options, context).ok());
  ASSERT_EQ(context.remarks.size(), 1u);
  EXPECT_EQ(context.remarks[0], "lift_quantize: pass lift_quantize is left out, as asked for");
}

}  // namespace
}  // namespace qc
