// Functions of one value on codes: tables of 8 bits are exact, 16 bits are within one step of the
// exact function, for every op that is one and every code.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ops/common/registration.h"
#include "passes/fold_qdq.h"
#include "quant/scheme.h"

namespace qc {
namespace {

/// Elementwise ops of one f32 operand with an f32 result.
std::vector<std::string> functions() {
  register_all_ops();
  std::vector<std::string> out;
  for (const auto& [name, entry] : op_table().all()) {
    if (!entry.info->has(kElementwise) || entry.info->max_inputs != 1) continue;
    // A function computes in the type of its operand; seeing bytes as another type does not.
    Graph g;
    bool fits = true;
    for (DType dtype : {DType::f32, DType::f64}) {
      auto y = g.emit(name, {g.add_input("x", Type(dtype, {Dim(1)}))}, {}, {});
      fits = fits && y.ok() && (*y)->dtype() == dtype;
    }
    if (fits) out.emplace_back(name);
  }
  return out;
}

/// quantize(op(dequantize(x))) of n codes.
std::unique_ptr<Graph> between_codes(const std::string& op, const QType& from, const QType& to,
                                     int64_t n, const std::string& arithmetic) {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type(from, {Dim(n)}));
  Value* f = g->emit("dequantize", {x}, {}, {}).value();
  Value* y = g->emit(op, {f}, {}, {}).value();
  g->add_output("y",
                g->emit("quantize", {y}, {{"to", to}, {"arithmetic", arithmetic}}, {}).value());
  return g;
}

Tensor all_codes(DType dtype) {
  const CodeRange range = code_range(dtype);
  Tensor t(dtype, {range.hi - range.lo + 1});
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, range.lo + i);
  return t;
}

// arithmetic.md: Q13
TEST(QuantizedFunctions, OfEightBitsAreExactTables) {
  const std::vector<std::string> ops = functions();
  EXPECT_GE(ops.size(), 45u);
  for (const std::string& op : ops) {
    for (const QType& from :
         {tensor_format(DType::i8, 0.03f, -20), tensor_format(DType::u8, 0.0625f, 7)}) {
      for (const QType& to :
           {tensor_format(DType::i8, 0.015625f, 3), tensor_format(DType::u16, 0.0003f, 20000)}) {
        for (const char* arithmetic : {"exact", "torch"}) {
          auto graph = between_codes(op, from, to, 256, arithmetic);
          const std::vector<Tensor> in{all_codes(from.dtype)};
          auto want = interpret(*graph, in);
          ASSERT_TRUE(want.ok()) << render(want.diag());
          PassContext context;
          ASSERT_TRUE(fold_qdq(*graph, context).ok());
          ASSERT_EQ(graph->node_count(), 1u) << op << " is not a table";
          auto got = interpret(*graph, in);
          ASSERT_TRUE(got.ok()) << render(got.diag());
          EXPECT_TRUE(got->outputs[0].identical(want->outputs[0])) << op << " " << arithmetic;
        }
      }
    }
  }
}

/// The function in double precision: of the library where it has it, else the op on f64 operands.
Result<std::vector<double>> exact(const std::string& op, const Tensor& x) {
  static const std::map<std::string, double (*)(double)> kLibrary = {
      {"tanh", std::tanh},
      {"exp", std::exp},
      {"log", std::log},
      {"erf", std::erf},
      {"sqrt", std::sqrt},
      {"sin", std::sin},
      {"cos", std::cos},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"asin", std::asin},
      {"acos", std::acos},
      {"asinh", std::asinh},
      {"acosh", std::acosh},
      {"atanh", std::atanh},
      {"expm1", std::expm1},
      {"log1p", std::log1p},
      {"floor", std::floor},
      {"ceil", std::ceil},
      {"round", std::nearbyint},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"silu", [](double v) { return v / (1 + std::exp(-v)); }},
      {"gelu", [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }},
      {"softplus", [](double v) { return std::log1p(std::exp(-std::abs(v))) + std::max(v, 0.0); }},
      {"mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
  };
  std::vector<double> out(static_cast<size_t>(x.size()));
  if (auto it = kLibrary.find(op); it != kLibrary.end()) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = it->second(double{x.data<float>()[i]});
    return out;
  }
  Graph g;
  QC_ASSIGN(Value * y, g.emit(op, {g.add_input("x", Type(DType::f64, {Dim(x.size())}))}, {}, {}));
  g.add_output("y", y);
  Tensor wide(DType::f64, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) wide.set_double(i, double{x.data<float>()[i]});
  QC_ASSIGN(auto run, interpret(g, {wide}));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = run.outputs[0].as_double(static_cast<int64_t>(i));
  return out;
}

// arithmetic.md: Q14
TEST(QuantizedFunctions, OfSixteenBitsAreWithinAStep) {
  for (const std::string& op : functions()) {
    const QType from = tensor_format(DType::i16, 7.3f / 32768, 1234);
    Tensor x(DType::f32, {65536});
    for (int64_t i = 0; i < 65536; ++i)
      x.set_double(i, static_cast<float>(i - 32768 - 1234) * from.format->scale_at());
    auto y = exact(op, x);
    ASSERT_TRUE(y.ok()) << op << ": " << render(y.diag());
    // A format that holds what the function gives, up to +-100.
    double least = 0, most = 1e-3;
    for (double v : *y) {
      if (!std::isfinite(v)) continue;
      least = std::min(least, std::max(v, -100.0));
      most = std::max(most, std::min(v, 100.0));
    }
    const float scale = static_cast<float>((most - least) / 65535);
    const auto zero = static_cast<int32_t>(std::round(-32768 - least / double{scale}));
    const QType to = tensor_format(DType::i16, scale, zero);
    auto graph = between_codes(op, from, to, 65536, "exact");
    PassContext context;
    ASSERT_TRUE(fold_qdq(*graph, context).ok());
    auto got = interpret(*graph, {all_codes(DType::i16)});
    ASSERT_TRUE(got.ok()) << render(got.diag());
    int64_t beyond = 0;
    double worst = 0;
    for (int64_t i = 0; i < 65536; ++i) {
      const double v = (*y)[static_cast<size_t>(i)];
      if (std::isnan(v)) continue;
      const double want = std::clamp(v / double{scale} + zero, -32768.0, 32767.0);
      const double off = std::abs(static_cast<double>(got->outputs[0].as_int(i)) - want);
      worst = std::max(worst, off);
      beyond += off > 1;
    }
    EXPECT_EQ(beyond, 0) << op << ": off by up to " << worst << " steps";
  }
}

// arithmetic.md: Q12
TEST(QuantizedFunctions, AReluRescalesAndDoesNotRelabel) {
  // Input far into the negative: its scale is much larger than that of what is left.
  const QType from = tensor_format(DType::i8, 0.1f, 100),
              to = tensor_format(DType::i8, 0.0106f, -128);
  auto graph = between_codes("clamp", from, to, 256, "exact");
  Node* clamp = graph->outputs()[0].value->def()->input(0)->def();
  ASSERT_TRUE(set_attrs(*clamp, {{"lo", 0.0}}, {}).ok());
  PassContext context;
  ASSERT_TRUE(fold_qdq(*graph, context).ok());
  auto got = interpret(*graph, {all_codes(DType::i8)});
  ASSERT_TRUE(got.ok());
  for (int64_t i = 0; i < 256; ++i) {
    const double value = std::max(0.0, static_cast<double>(i - 128 - 100) * 0.1);
    const double decoded = static_cast<double>(got->outputs[0].as_int(i) + 128) * 0.0106;
    EXPECT_NEAR(decoded, std::min(value, 255 * 0.0106), 0.0054) << i - 128;
  }
}

}  // namespace
}  // namespace qc
