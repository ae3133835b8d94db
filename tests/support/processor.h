// Instruction sets of tests by name, so that they compile the same code on every machine.
#pragma once

#include <string>

namespace qc {

/// Flags for vectors of 256 bits where this processor runs them, else none: tests that run what
/// they build run it on every machine, and tests/emitted compiles for all sets on every machine.
inline std::string vector_flags() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return " -march=haswell";
  }
#endif
  return {};
}

}  // namespace qc
