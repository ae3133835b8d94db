// One arithmetic whatever compiles it: the checksum program gives one number as C++ and as C with
// every compiler and option here, and no numerics source adds to a bare product.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "numerics_c_test.c"
#include "tests/support/processor.h"

namespace {

const char* const kWarnings =
    " -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I. ";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string output_of(const std::string& command) {
  std::string text;
  std::array<char, 256> buffer;
  FILE* pipe = popen(command.c_str(), "r");
  while (pipe && fgets(buffer.data(), buffer.size(), pipe)) text += buffer.data();
  if (pipe) pclose(pipe);
  return text;
}

bool exists(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

using Build = std::pair<std::string, std::string>;  // compiler and options
class NumericsCompilers : public testing::TestWithParam<Build> {};

// arithmetic.md: G2, G3
TEST_P(NumericsCompilers, GivesTheSameBits) {
  const std::string compiler = GetParam().first, options = GetParam().second;
  ASSERT_TRUE(exists(compiler)) << compiler << " is not installed";
  const std::string program = testing::TempDir() + "numerics_" + compiler + "_" +
                              std::to_string(std::hash<std::string>{}(options));
  const std::string command =
      compiler + kWarnings + options + " tests/unit/numerics_c_test.c -o " + program + " -lm";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::array<char, 32> want;
  std::snprintf(want.data(), want.size(), "%016llx\n",
                static_cast<unsigned long long>(numerics_checksum()));
  EXPECT_EQ(output_of(program), want.data()) << command;
  std::filesystem::remove(program);
}

INSTANTIATE_TEST_SUITE_P(
    Each, NumericsCompilers,
    testing::Values(Build{"gcc", "-O0 -fsanitize=undefined -fno-sanitize-recover=all"},
                    Build{"gcc", "-O3 -ffp-contract=fast" + qc::vector_flags()},
                    Build{"clang", "-O0"},
                    Build{"clang", "-O3 -ffp-contract=fast" + qc::vector_flags()}));

// Compiled, not run: every gcc for x86-64 knows this set, and other targets have fma anyway.
#if defined(__x86_64__)
const std::string kFusedVectors = " -march=skylake-avx512";
#else
const std::string kFusedVectors;
#endif

// arithmetic.md: F3
TEST(NumericsBuild, GccVectorisesLoopsOverTheHotFunctions) {
  ASSERT_TRUE(exists("gcc")) << "gcc is not installed";
  const std::vector<std::string> names = {"exp",  "exp2",     "expm1",     "log",       "log1p",
                                          "tanh", "sigmoid",  "silu",      "erf",       "gelu",
                                          "mish", "softplus", "gelu_tanh", "hardswish", "relu"};
  const std::string source = testing::TempDir() + "numerics_loops.c";
  std::ofstream out(source);
  out << "#include \"kernels/numerics/scalar_ops.h\"\n";
  for (const auto& name : names) {
    out << "void run_" << name << "(const float* restrict x, float* restrict y, int n) {"
        << " for (int i = 0; i < n; ++i) y[i] = qn_" << name << "_f32(x[i]); }\n";
  }
  out.close();
  const std::string report = output_of("gcc -std=c11 -O3" + kFusedVectors +
                                       " -I. -fopt-info-vec -c " + source + " -o /dev/null 2>&1");
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string at = "numerics_loops.c:" + std::to_string(i + 2) + ":";
    EXPECT_NE(report.find(at), std::string::npos) << names[i] << " is not vectorised";
  }
  std::filesystem::remove(source);
}

TEST(NumericsList, EveryIntegerOperationIsInTheChecksum) {
  const std::string text = read_text("tests/unit/numerics_c_test.c");
#define QN_UNARY(name) EXPECT_NE(text.find("RUN1(" #name ", t)"), std::string::npos) << #name;
#define QN_UNARY_I(name) EXPECT_NE(text.find("RUN1(" #name ", t)"), std::string::npos) << #name;
#define QN_BINARY(name) EXPECT_NE(text.find("RUN2(" #name ", t)"), std::string::npos) << #name;
#define QN_BINARY_I(name) EXPECT_NE(text.find("RUN2(" #name ", t)"), std::string::npos) << #name;
#define QN_COMPARE(name) EXPECT_NE(text.find("RUN2(" #name ", t)"), std::string::npos) << #name;
#include "kernels/numerics/scalar_ops.inc"
}

// ---- the lint: no sum of products but in an fma ----

// Splits C text into names, numbers and single punctuation marks; comments, strings and
// preprocessor lines are left out, the bodies of macros kept.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.compare(i, 2, "/*") == 0) {
      i = text.find("*/", i) + 2;
    } else if (c == '#' && text.compare(i, 2, "##") != 0 && text.compare(i, 7, "#define") != 0) {
      i = text.find('\n', i);
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                                   text[end] == '_' || text[end] == '.' ||
                                   ((text[end] == '+' || text[end] == '-') &&
                                    std::tolower(text[end - 1]) == 'p' && std::isdigit(c)))) {
        ++end;
      }
      out.push_back(text.substr(i, end - i));
      i = end;
    } else {
      if (!std::isspace(static_cast<unsigned char>(c)) && c != '\\')
        out.push_back(std::string(1, c));
      ++i;
    }
  }
  return out;
}

// Reads one bracket group (or the file) and reports sums with a product as a term. Returns whether
// the group as a whole is a product.
bool scan(const std::vector<std::string>& tokens, size_t& i, std::vector<std::string>& found) {
  static const std::set<std::string> breaks = {",", ";", "{", "}", "=", "?",     ":",
                                               "<", ">", "&", "|", "!", "return"};
  bool product = false, sum = false, operand = false, group_is_product = false;
  std::string shown;
  const auto finish = [&] {
    if (product && sum) found.push_back(shown);
    group_is_product = product && !sum;
    product = sum = operand = false;
    shown.clear();
  };
  for (; i < tokens.size(); ++i) {
    const std::string& t = tokens[i];
    if (t == ")" || t == "]") break;
    if (t == "(" || t == "[") {
      const bool call = operand;
      const size_t open = i++;
      if (scan(tokens, i, found) && !call && t == "(") product = true;
      for (size_t k = open; k <= i && k < tokens.size(); ++k) shown += tokens[k];
      operand = true;
      continue;
    }
    if (breaks.count(t)) {
      finish();
      continue;
    }
    shown += t;
    if (operand && t == "*") product = true;
    if (operand && (t == "+" || t == "-")) sum = true;
    operand = std::isalnum(static_cast<unsigned char>(t[0])) || t[0] == '_';
  }
  finish();
  return group_is_product;
}

std::vector<std::string> sums_of_products(const std::string& text) {
  std::vector<std::string> found;
  const auto tokens = tokens_of(text);
  for (size_t i = 0; i < tokens.size(); ++i) scan(tokens, i, found);
  return found;
}

// arithmetic.md: G1
TEST(NumericsLint, FindsASumOfProducts) {
  EXPECT_EQ(sums_of_products("float f(float a) { return a * b + c; }").size(), 1u);
  EXPECT_EQ(sums_of_products("y = c - (a * b);").size(), 1u);
  EXPECT_EQ(sums_of_products("y = g(a * b + 0x1p-3f, d);").size(), 1u);
  EXPECT_EQ(sums_of_products("y = qn_fmaf(a * b, c, d) + e; x = -a * b; z = (a + b) * c;").size(),
            0u);
}

// arithmetic.md: G1
TEST(NumericsLint, NoNumericsSourceAddsToAProduct) {
  // Integer arithmetic.
  const std::set<std::string> integers = {
      "y0*width+x0",
      "y0*width+x1",
      "y1*width+x0",
      "y1*width+x1",
      "a1*b0+((a0*b0)>>32)",
      "a0*b1+(mid&0xffffffffu)",
      "a1*b1+(mid>>32)+(mid2>>32)",
      "m*w[1]+qn_mul_high_u64(m,w[2])",
      "m*w[0]+qn_mul_high_u64(m,w[1])+carry",
      "start+64*k",
      "(magnitude>>32)*(uint64_t)(uint32_t)mantissa+(below>>32)",
      "2*half-1u",
      "2*at+1",
      "boxes+4*(int64_t)best",
      "boxes+4*(int64_t)other",
      "(int64_t)(a-za)*ma+(int64_t)(b-zb)*mb"};
  for (const auto& entry : std::filesystem::directory_iterator("kernels/numerics")) {
    if (entry.path().extension() != ".h") continue;
    for (const auto& sum : sums_of_products(read_text(entry.path()))) {
      EXPECT_TRUE(integers.count(sum)) << entry.path() << ": " << sum;
    }
  }
}

}  // namespace
