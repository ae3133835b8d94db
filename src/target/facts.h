// Facts of the machines that code is generated for: costs of kernels are estimated with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qc {

/// Figures of one machine that a target stands for: public ones, or measured where docs/targets.md
/// says so. Rates are of the whole GPU, or of one core of a processor, in 10^9 multiply-accumulates
/// a second. The defaults are a nominal core: a target without figures of its own has them.
struct Facts {
  std::string machine = "a core with vectors of 16 bytes";
  double clock_ghz = 2;
  int64_t multiprocessors = 1;
  /// Of a register; of a GPU those of a warp.
  int64_t vector_bytes = 16;
  double f32_gmacs = 8;
  double i16_gmacs = 16;     // codes as pairs of 16 bits; of a GPU one product for an instruction
  double i8_gmacs = 16;      // vpdpbusd, sdot, dp4a
  double tensor_gmacs = 0;   // i8 of tensor cores; 0: there are none
  double memory_gbs = 10;    // 10^9 bytes a second
  int64_t l2_bytes = 0;      // that a multiprocessor reads from the second-level cache in a clock
  int64_t shared_block = 0;  // bytes of shared memory that a block of threads can have
  int64_t shared_multiprocessor = 0;

  /// 32-bit lanes of a vector, or threads of a warp.
  double lanes() const { return static_cast<double>(vector_bytes) / 4; }
  /// What a multiprocessor multiplies in a clock at a rate of the whole machine.
  double per_clock(double gmacs) const {
    return gmacs / (clock_ghz * static_cast<double>(multiprocessors));
  }
};

/// A figure, as `quantc targets --facts` shows it.
struct Fact {
  std::string_view name, unit;
  std::string value;  // "" where the machine has no such thing
};
std::vector<Fact> listed(const Facts& facts);

}  // namespace qc
