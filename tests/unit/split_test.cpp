// Calls in parts give the bits of whole calls, for every portable kernel that has units.
#include "program/split.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "kernels/common/codes.h"
#include "program/params.h"
#include "program/parse.h"
#include "program/select_kernels.h"
#include "support/threads.h"

namespace qc {
namespace {

/// A random call of a body with its operands.
class Sampled {
 public:
  Sampled(const Body& body, uint32_t seed) : body_(body), random_(seed) {
    call_.kernel = body.kernel;
    call_.body = &body;
    call_.params.resize(body.kernel->numbers);
    for (const Field& f : body.kernel->fields) {
      for (int i = 0; f.type == Field::Type::f32 && i < f.count; ++i) at(f.name, i) = 0.0f;
    }
    in_.resize(body.kernel->in.size());
  }

  int pick(std::initializer_list<int> from) { return from.begin()[random_() % from.size()]; }
  Param& at(const std::string& name, int i = 0) {
    return call_.params[body_.kernel->field(name)->at + static_cast<size_t>(i)];
  }
  /// What `rescale` and its like say is in the epilogue, or alone where nothing is added.
  std::string result_member(const char* name) const {
    return body_.kernel->group("qk_result_stage")->name + "." + name;
  }
  void set(const std::string& name, std::initializer_list<int> values) {
    int i = 0;
    for (const int v : values) at(name, i++) = Dim(v);
  }
  int64_t get(const std::string& name, int i = 0) const { return call_.integer(name, i); }

  /// An operand of random bytes.
  void bytes(const char* name, int64_t count) {
    auto& own = operand(name);
    own.resize(static_cast<size_t>(count));
    for (std::byte& b : own) b = static_cast<std::byte>(random_());
  }
  void floats(const char* name, int64_t count, float scale) {
    auto& own = operand(name);
    own.resize(static_cast<size_t>(count) * 4);
    for (size_t i = 0; i < own.size(); i += 4) {
      const float v = scale * static_cast<float>(random_() % 1000);
      std::memcpy(&own[i], &v, 4);
    }
  }
  void integers(const char* name, int64_t count, int size) {
    auto& own = operand(name);
    own.assign(static_cast<size_t>(count * size), std::byte{});
    for (size_t i = 0; i < own.size(); i += static_cast<size_t>(size))
      own[i] = static_cast<std::byte>(random_() % 100);
  }
  bool chance() { return random_() % 2 == 0; }

  /// What becomes of sums, `count` of them for `channels`, and the operands that belong to it.
  void output(int64_t channels, int64_t count, int bias_bytes) {
    const int type = pick({QK_I8, QK_U8, QK_I16, QK_U16, QK_F32, QK_I32});
    const bool codes = type < QK_F32, wide = type == QK_I16 || type == QK_U16;
    set(result_member("type"), {type});
    set(result_member("zero"), {3});
    set(result_member("lo"), {codes && type % 2 ? 0 : -100});
    set(result_member("hi"), {wide ? 1000 : 120});
    at(result_member("bias_factor")) = 1.0f;
    const bool q31 = codes && random_() % 4 == 0;
    set(result_member("q31"), {q31 ? 1 : 0});
    floats("multipliers", channels, 1e-6f);
    if (q31) {
      integers("multipliers", channels * 2, 4);
      for (size_t i = 0; i < operand("multipliers").size(); i += 8) {
        const int32_t pair[2] = {(1 << 30) + static_cast<int32_t>(random_() % (1 << 20)), 40};
        std::memcpy(&operand("multipliers")[i], pair, 8);
      }
    }
    if (chance()) integers("bias", channels, bias_bytes);
    if (!q31 && type != QK_I32 && chance()) floats("float_bias", channels, 0.01f);
    if (chance()) integers("w_zeros", channels, 4);
    if (codes && chance()) {
      set("epilogue.add.kind", {0});
      set("epilogue.add.first", {chance() ? 1 : 0});
      set("epilogue.add.type", {pick({QK_I8, QK_U8, QK_I16})});
      set("epilogue.add.y_type", {pick({QK_I8, QK_U8, QK_U16})});
      set("epilogue.add.lo", {0});
      set("epilogue.add.hi", {120});
      at("epilogue.add.ra") = 0.5f;
      at("epilogue.add.rb") = 0.75f;
      bytes("residual", count * 2);
    }
    result_.resize(static_cast<size_t>(count) * 4);
  }
  void result(int64_t count) { result_.resize(static_cast<size_t>(count)); }

  std::vector<std::byte> whole() {
    return run([&](const auto&, const auto& all) { all(); });
  }
  /// Ranges of units as `parallel_for` says.
  std::vector<std::byte> parts(const ParallelFor& parallel_for) {
    return run([&](const Part& part, const auto&) {
      parallel_for(static_cast<int32_t>(units_of(call_)), part);
    });
  }
  int64_t units() const { return units_of(call_); }

 private:
  std::vector<std::byte>& operand(const char* name) {
    return in_[static_cast<size_t>(body_.kernel->operand(name))];
  }
  template <class How>
  std::vector<std::byte> run(How how) {
    std::vector<std::byte> y(result_.size(), std::byte{0x5a});
    std::vector<const void*> in;
    for (const auto& own : in_) in.push_back(own.empty() ? nullptr : own.data());
    void* out[1] = {y.data()};
    const std::vector<std::byte> params = write_params(*call_.kernel, call_.params);
    const Part part = [&](int32_t first, int32_t last) {
      int32_t units[4] = {first, last, 0, 0};
      while (units[0] < last) {
        std::vector<std::byte> own = params;
        std::vector<const void*> own_in = in;
        void* own_out[1] = {out[0]};
        const int32_t next = body_.subrange(own.data(), own_in.data(), own_out, units);
        body_.run(own.data(), own_in.data(), own_out);
        ASSERT_GT(next, units[0]);
        units[0] = next;
      }
    };
    how(part, [&] { body_.run(params.data(), in.data(), out); });
    return y;
  }

  const Body& body_;
  std::mt19937 random_;
  Call call_;
  std::vector<std::vector<std::byte>> in_;
  std::vector<std::byte> result_;
};

/// Strides in rows, as all products have them.
void sample_gemm(Sampled& s, int elements, int64_t panel_bytes) {
  const int batch = s.pick({1, 1, 2, 3}), m = s.pick({1, 1, 2, 5, 16, 37});
  const int n = s.pick({1, 16, 17, 40, 100}), k = s.pick({1, 2, 7, 33, 70});
  s.set("batch", {batch});
  s.set("m", {m});
  s.set("n", {n});
  s.set("k", {k});
  s.set("x_batch", {m * k});
  s.set("y_batch", {m * n});
  const int64_t w = (n + 15) / 16 * panel_bytes * ((k + 1) / 2);
  s.set("w_batch", {static_cast<int>(w / elements)});
  s.bytes("x", int64_t{batch} * m * k * elements);
  s.bytes("w", batch * w);
}

void sample_qgemm(Sampled& s) {
  s.set("x_type", {s.pick({QK_I8, QK_U8, QK_I16})});
  sample_gemm(s, 1, 32);
  const int64_t rows = s.get("batch") * s.get("m");
  if (s.get("x_type") == QK_I16) s.bytes("x", rows * s.get("k") * 2);
  s.set("x_zero", {5});
  s.output(s.get("n"), rows * s.get("n"), 4);
  s.set("per_row", {s.chance() ? 1 : 0});
  if (s.get("per_row") || s.get(s.result_member("type")) == QK_F32)
    s.floats("x_scales", rows, 0.001f);
  if (s.chance()) s.integers("x_zeros", rows, 4);
}

void sample_gemm_f32(Sampled& s) {
  sample_gemm(s, 4, 2 * 16 * 4);
  const int64_t rows = s.get("batch") * s.get("m"), n = s.get("n"), k = s.get("k");
  s.set("x_row", {static_cast<int>(k)});
  s.set("w_batch", {static_cast<int>((n + 15) / 16 * 16 * k)});
  s.floats("x", rows * k, 0.01f);
  s.floats("w", s.get("batch") * s.get("w_batch"), 0.01f);
  s.at("hi") = s.at("add_f32.hi") = 1e9f;
  if (s.chance()) s.floats("bias", n, 0.1f);
  if (s.chance()) s.floats("residual", rows * n, 0.1f);
  s.result(rows * n * 4);
}

void sample_qmatmul(Sampled& s, const Body& body) {
  const int m = s.pick({1, 2, 5, 16, 37}), n = s.pick({1, 3, 17}), k = s.pick({1, 7, 33});
  const int a = s.pick({1, 2}), b = s.pick({1, 3}), c = s.pick({1, 2});
  const int x_bytes = body.select[0].ends_with("16") ? 2 : 1;
  const int w_bytes = body.select[1].ends_with("16") ? 2 : 1;
  s.set("batch", {a, b, c});
  s.set("a_batch", {b * c * m * k, c * m * k, m * k});
  s.set("b_batch", {b * k * n, k * n, 0});
  s.set("m", {m});
  s.set("n", {n});
  s.set("k", {k});
  s.set("b_k", {n});
  s.set("b_n", {1});
  const int64_t rows = int64_t{a} * b * c * m;
  s.bytes("x", rows * k * x_bytes);
  s.bytes("w", int64_t{a} * b * k * n * w_bytes);
  s.output(n, rows * n, 8);
  s.set("per_row", {s.chance() ? 1 : 0});
  if (s.chance()) s.floats("x_scales", rows, 0.001f);
  if (s.chance()) s.integers("x_zeros", rows, 4);
}

/// The shape of a convolution; returns elements of x, w and y.
std::array<int64_t, 3> sample_conv(Sampled& s, bool depthwise) {
  const int n = s.pick({1, 1, 2}), groups = depthwise ? s.pick({1, 5, 16, 20}) : s.pick({1, 1, 3});
  const int icg = depthwise ? 1 : s.pick({1, 2, 5, 16}), ocg = depthwise ? 1 : s.pick({1, 4, 20});
  int64_t in = 1, out = 1, taps = 1;
  s.set("n", {n});
  s.set("groups", {groups});
  s.set("ic", {groups * icg});
  s.set("oc", {groups * ocg});
  for (int axis = 0; axis < 3; ++axis) {
    const bool one = (axis == 0 && s.chance()) || (axis == 1 && s.pick({0, 0, 1}) == 1);
    const int size = one ? 1 : s.pick({3, 4, 9, 20}), k = one ? 1 : s.pick({1, 2, 3});
    const int stride = one ? 1 : s.pick({1, 2}), dilation = one ? 1 : s.pick({1, 1, 2});
    const int pad = one ? 0 : s.pick({0, 1, 2});
    const int room = size + 2 * pad - (k - 1) * dilation;
    const int results = room <= 0 ? 1 : (room + stride - 1) / stride;
    const std::pair<const char*, int> members[] = {
        {"in", size},       {"out", results},       {"k", k},
        {"stride", stride}, {"dilation", dilation}, {"pad", pad}};
    for (const auto& [name, value] : members) s.at(name, axis) = Dim(value);
    in *= size;
    out *= results;
    taps *= k;
  }
  // Weights are as long as any way of packing makes them.
  return {n * groups * icg * in, (groups * ((ocg + 15) / 16) * 16) * (icg + 1) * taps,
          n * groups * ocg * out};
}

void sample_qconv(Sampled& s, const Body& body) {
  const bool plain = body.kernel->name == "qconv_plain";
  const auto [x, w, y] = sample_conv(s, body.kernel->name == "qconv_depthwise");
  static const std::map<std::string, int> kTypes = {
      {"i8", QK_I8}, {"u8", QK_U8}, {"i16", QK_I16}, {"u16", QK_U16}};
  s.set("nhwc", {!plain || s.chance() ? 1 : 0});
  s.set("x_type", {plain ? kTypes.at(body.select[0]) : s.pick({QK_I8, QK_U8, QK_I16})});
  s.set("x_zero", {5});
  s.bytes("x", x * 2);
  s.bytes("w", w * 2 + 64);
  s.output(s.get("oc"), y, plain && body.select[2] == "i64" ? 8 : 4);
  if (s.chance()) s.floats("x_scales", 1, 0.001f);
  if (s.chance()) s.integers("x_zeros", 1, 4);
}

void sample_conv_float(Sampled& s, const Body& body) {
  const auto [x, w, y] = sample_conv(s, body.kernel->name == "conv_depthwise");
  s.set("nhwc", {s.chance() ? 1 : 0});
  s.at("hi") = s.at("add_f32.hi") = 1e9f;
  s.floats("x", x * 2, 0.01f);
  s.floats("w", w * 2, 0.01f);
  if (s.chance()) s.floats("bias", s.get("oc") * 2, 0.1f);
  if (s.chance()) s.floats("residual", y * 2, 0.1f);
  s.result(y * 8);
}

Sampled sample(const Body& body, uint32_t seed) {
  Sampled s(body, seed);
  const std::string& kernel = body.kernel->name;
  if (kernel == "gemm_panels")
    sample_gemm_f32(s);
  else if (kernel.starts_with("conv"))
    sample_conv_float(s, body);
  else if (kernel == "qmatmul")
    sample_qmatmul(s, body);
  else if (kernel.starts_with("qconv"))
    sample_qconv(s, body);
  else
    sample_qgemm(s);
  return s;
}

/// Kernels whose calls are sampled here; random graphs have the others in parts.
const std::set<std::string> kProducts = {"gemm_panels",    "conv_plain", "conv_nhwc",
                                         "conv_depthwise", "qmatmul",    "qgemm_panels",
                                         "qconv_plain",    "qconv_nhwc", "qconv_depthwise"};

TEST(Split, PartsInAnyOrderGiveTheBitsOfTheWhole) {
  std::set<std::string> split;
  Threads threads(3);
  for (const Body& body : all_bodies()) {
    if (!body.units || !body.machine.empty() || !kProducts.contains(body.kernel->name)) continue;
    for (uint32_t seed = 0; seed < 30; ++seed) {
      Sampled s = sample(body, seed);
      if (s.units() > 1) split.insert(body.kernel->name);
      const std::vector<std::byte> expected = s.whole();
      for (const int parts : {1, 2, 3, 7}) {
        const auto backwards = [&](int32_t units, const Part& part) {
          for (int i = parts - 1; i >= 0; --i) part(units * i / parts, units * (i + 1) / parts);
        };
        ASSERT_EQ(s.parts(backwards), expected)
            << body.symbol << ", seed " << seed << ", " << parts;
      }
      const auto on_threads = [&](int32_t units, const Part& part) { threads.run(units, part); };
      ASSERT_EQ(s.parts(on_threads), expected) << body.symbol << ", seed " << seed;
    }
  }
  EXPECT_EQ(split, kProducts);
}

TEST(Split, ThreadsShareEveryUnitOnce) {
  for (const int count : {1, 2, 5}) {
    Threads threads(count);
    for (const int32_t units : {0, 1, 3, 100}) {
      std::vector<int> seen(static_cast<size_t>(units));
      threads.run(units, [&](int32_t first, int32_t last) {
        for (int32_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(units), 1));
    }
  }
}

/// A large product, a small one and one in a loop.
constexpr const char* kProgram = R"(program "p" arena 0 align 64 state 0
input %0 "x" : i8[64, 32]
output %1 "y" : i8[64, 48]
%0 input 2048 [0] "x"
%1 output 3072 [0] "y"
%2 arena 1536 "w"
%3 arena 8 "count"
qgemm_panels(x=%0:i8[64, 32], w=%2:i8[1536]) {batch = 1, m = 64, n = 48, k = 32} -> (y=%1:i8[64, 48]) : qk_qgemm macs(98304)
qgemm_panels(x=%0:i8[1, 32], w=%2:i8[512]) {batch = 1, m = 1, n = 16, k = 32} -> (y=%1:i8[1, 16]) : qk_qgemm macs(512)
loop while _ limit %3:i64[1] counter _ {
  qgemm_panels(x=%0:i8[1, 32], w=%2:i8[1536]) {batch = 1, m = 1, n = 48, k = 32} -> (y=%1:i8[1, 48]) : qk_qgemm macs(1536)
}
)";

TEST(Split, LargeCallsOfSeveralUnitsBecomeParallelSteps) {
  auto program = parse_program(kProgram, std::make_shared<ConstantPool>());
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_EQ(split(*program, 600), 2);
  std::string expected = kProgram;
  expected.insert(expected.find("qgemm_panels(x=%0:i8[64"), "parallel 16 ");
  expected.insert(expected.rfind("qgemm_panels"), "parallel 3 ");
  EXPECT_EQ(str(*program), expected);
  EXPECT_TRUE(verify(*program).ok());
  const auto again = parse_program(expected, std::make_shared<ConstantPool>());
  ASSERT_TRUE(again.ok()) << render(again.diag());
  EXPECT_EQ(str(*again), expected);
}

TEST(Split, CallsWithFreeSizesAreSplitAndCountTheirUnitsWhenTheyRun) {
  std::string text = kProgram;
  text.insert(text.find("\n%0 ") + 1, "dim \"rows\" 1 to 64 step 1\n");
  const auto replace = [&](const std::string& old, const std::string& by) {
    text.replace(text.find(old, text.find("qgemm_panels")), old.size(), by);
  };
  replace("[64, 32]", "[rows, 32]");
  replace("m = 64", "m = [rows]");
  replace("[64, 48]", "[rows, 48]");
  auto program = parse_program(text, std::make_shared<ConstantPool>());
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_EQ(split(*program, 1 << 30), 1);
  const auto* step = std::get_if<ParallelStep>(&program->steps[0].op);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->units, Dim(0));
  EXPECT_TRUE(verify(*program).ok());
  const auto again = parse_program(str(*program), std::make_shared<ConstantPool>());
  ASSERT_TRUE(again.ok()) << render(again.diag());
  EXPECT_EQ(str(*again), str(*program));
}

}  // namespace
}  // namespace qc
