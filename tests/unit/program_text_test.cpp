#include <gtest/gtest.h>

#include "program/parse.h"
#include "program/program.h"

namespace qc {
namespace {

std::string reprinted(const std::string& text) {
  const Result<Program> program = parse_program(text, std::make_shared<ConstantPool>());
  return program.ok() ? str(*program) : render(program.diag());
}

/// Every kind of step, buffer, view and number.
constexpr const char* kAll =
    R"(program "p" arena 256 align 64 state 0
input %0 "x" : i8[4, 8]
output %1 "y" : f32[n]
scalar "n" 0 to 511 from %3:i64[1]
%0 input 32 [0] "x"
%1 output [4*n] [0] "y"
%2 arena 256 @ 0 "codes"
%3 arena 8 "size"
%4 device arena [4*n + 64] "on the device"
%5 = %2 + 64, 128 "part"
%6 arena 1 "condition"
clamp[i8](x=%0:i8[4, 8]) {n = 32, lo = -1.5, hi = inf} -> (y=%2:i8[4, 8]) : qk_clamp_i8 in_place(0, 0) macs(3) loc("a", "b\n")
clamp[i8](x=%2:i8[4, 2]<8, 1>) {n = [8*n]} -> (y=%5 + 8:i8[8]) facts(narrow_x)
parallel [n] gemm_panels(x=%2:f32[16], w=%2:f32[16]) {batch = 1, m = [n], hi = 6.0, add_f32 = {hi = 1.0}} -> (y=%1:f32[n]) : qk_gemm_f32
qgemm_panels(x=%0:i8[4, 8], w=%0:i8[4, 8]) {m = 4, epilogue = {result = {zero = 3, lo = -128}, add = {kind = 1, ra = 0.5}}} -> (y=%2:i8[4, 4])
copy %2:u8[64] to %4:u8[64] loc("to the device")
norm[f32](x=%4 + [4*n]:f32[16], beta=%4:f32[4]) {rows = 1, n = 16} -> (y=%4:f32[16], rstd=%4:f32[1])
qgemm(x=%0:i8[4, 8], w=%0:i8[4, 8]) {m = 4, n = 4, k = 8} | rescale(multipliers=%2:f32[4], float_bias=%2:f32[4]) {lo = -128, hi = 127, bias_factor = 1.0} | add(residual=%0:i8[4, 4]) {first = 1} in_place -> (y=%2:i8[4, 4])
qgemm(x=%0:i8[4, 8], w=%0:i8[4, 8]) {m = 4, n = 4, k = 8} | dequantize(multipliers=%2:f32[4]) {type = 4} -> (y=%2:f32[4, 4])
qgemm(x=%0:i8[4, 8], w=%0:i8[4, 8]) {m = 4, n = 4, k = 8} | accumulators(multipliers=%2:f32[4]) {type = 5} -> (y=%2:i32[4, 4])
gemm(x=%4:f32[2, 2], w=%4:f32[2, 2]) {m = 2, n = 2, k = 2} | add_f32(residual=%4:f32[2, 2]) {hi = 6.0} -> (y=%4:f32[2, 2])
if %6:bool[1] {
  copy(x=%0:i8[4]) {bytes = 4} -> (y=%2:i8[4])
} else {
  loop while _ limit %3:i64[1] counter %3:i64[1] {
    copy(x=%0:i8[4]) {bytes = 4} -> (y=%2:i8[4])
  } loc("loop")
}
)";

TEST(ProgramText, PrintsWhatItReads) {
  EXPECT_EQ(reprinted(kAll), kAll);
  const std::string dots = "program \"p\" arena 0 align 64 state 0 dot mul_add\n";
  EXPECT_EQ(reprinted(dots), dots);
  EXPECT_NE(reprinted("program \"p\" arena 0 align 64 state 0 dot mul\n").find("mul_add"),
            std::string::npos);
}

struct Mistake {
  const char* text;
  const char* message;
};

/// What is wrong with one line after a head with the buffers %0 (input of 32 bytes), %1 (arena) and
/// %2 (on the device).
TEST(ProgramText, NamesMistakes) {
  const std::string head =
      "program \"p\" arena 0 align 64 state 0\n%0 input 32 [0] \"x\"\n%1 arena 32 \"y\"\n"
      "%2 device arena 32 \"z\"\n";
  const Mistake mistakes[] = {
      {"clamp[i8](x=%0:i8[33]) {} -> (y=%1:i8[32])", "takes bytes 0 to 33 of a buffer of 32 bytes"},
      {"clamp[i8](x=%0 + 8:i8[4, 2]<8, 1>) {} -> (y=%1:i8[32])", "takes bytes 8 to 34"},
      {"clamp[i8](x=%0:i8[32]) {} -> (y=%0:i8[32])", "writes to an input or a constant"},
      {"clamp[i8](z=%0:i8[32]) {} -> (y=%1:i8[32])", "no operand 'z'"},
      {"clamp[i8]() {} -> (y=%1:i8[32])", "'clamp' is called without 'x'"},
      {"clamp(x=%0:i8[32]) {} -> (y=%1:i8[32])", "called with the wrong arguments"},
      {"clamp[i4](x=%0:i8[32]) {} -> (y=%1:i8[32])", "nothing computes 'clamp' of [i4]"},
      {"clamp[i8](x=%0:i8[32]) {m = 1} -> (y=%1:i8[32])", "no parameter 'm'"},
      {"qgemm_panels(x=%0:i8[4, 8], w=%0:i8[4, 8]) {epilogue = {add = {mode = 1}}} -> "
       "(y=%1:i8[32])",
       "no parameter 'epilogue.add.mode'"},
      {"qgemm_panels(x=%0:i8[4, 8], w=%0:i8[4, 8]) {epilogue = 1} -> (y=%1:i8[32])",
       "expected '{'"},
      {"clamp[i8](x=%0:i8[32]) {n = 3000000000} -> (y=%1:i8[32])", "does not fit 32 bits"},
      {"clamp[i8](x=%0:i8[32]) {} -> (y=%1:i8[32]) : qk_clamp_u8", "nothing computes"},
      {"parallel 2 strided[1](x=%0:i8[32]) {} -> (y=%1:i8[32]) : qk_strided_1", "cannot be split"},
      {"parallel 2 gemm_panels(x=%0:f32[8], w=%0:f32[8]) {batch = 1, m = 8, n = 1} -> "
       "(y=%1:f32[8]) : qk_gemm_f32",
       "'gemm_panels' has 8 units, not 2"},
      {"melt(x=%0:i8[32]) {} -> (y=%1:i8[32])", "there is no kernel 'melt'"},
      {"clamp[i8](x=%7:i8[32]) {} -> (y=%1:i8[32])", "names no buffer"},
      {"clamp[i8](x=%0:i8[32]) {} -> (y=%2:i8[32])", "'clamp' takes bytes of two memories"},
      {"copy %0:u8[32] to %2:u8[16]", "32 bytes are copied to 16"},
      {"gemm(x=%0:f32[1], w=%0:f32[1]) {} | melt() {} -> (y=%1:f32[1])",
       "there is no stage 'melt'"},
      {"gemm(x=%0:f32[1], w=%0:f32[1]) {} | add(residual=%0:i8[1]) {} -> (y=%1:f32[1])",
       "'gemm' does not take the stage 'add' there"},
      {"qgemm(x=%0:i8[1], w=%0:i8[1]) {} | add(residual=%0:i8[1]) {} | "
       "rescale(multipliers=%0:f32[1])"
       " {} -> (y=%1:i8[1])",
       "'qgemm' does not take the stage 'rescale' there"},
      {"qgemm(x=%0:i8[1], w=%0:i8[1]) {} | rescale() {} -> (y=%1:i8[1])",
       "'rescale' is called without 'multipliers'"},
      {"qgemm(x=%0:i8[1], w=%0:i8[1], residual=%0:i8[1]) {} | add(residual=%0:i8[1]) {} -> "
       "(y=%1:i8[1])",
       "'qgemm' has 'residual' twice"},
      {"gemm(x=%0:f32[1], w=%0:f32[1]) {} | add_f32(residual=%0:f32[9]) {} -> (y=%1:f32[1])",
       "takes bytes 0 to 36"},
  };
  for (const Mistake& m : mistakes) {
    const std::string got = reprinted(head + m.text + "\n");
    EXPECT_NE(got.find(m.message), std::string::npos) << m.text << "\n" << got;
  }
}

}  // namespace
}  // namespace qc
