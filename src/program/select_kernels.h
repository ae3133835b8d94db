// Chooses what computes each call of a program.
#pragma once

#include "program/variant.h"

namespace qc {

/// What was chosen for a call, and why other variants of its kernel were not.
struct KernelChoice {
  Loc loc;
  std::string kernel;   // as the op called it
  std::string variant;  // empty where the kernel has none
  double cost = 0;      // estimated nanoseconds, where there is a variant
  std::string body;     // the function that computes it
  struct Other {
    std::string variant, feature, why;
    double cost = 0;    // where it could compute the call
    bool fits = false;  // it could compute the call; `why` says what it costs
  };
  std::vector<Other> others;
};

/// What the user chose: the variant that computes the calls of a layer whose kernels have it.
struct ForcedKernel {
  std::string layer, variant;
};
/// "LAYER=VARIANT".
Result<ForcedKernel> parse_forced_kernel(const std::string& text);

/// Turns every call into one that has a body the target can run: of the variants of its kernel that
/// take it, the one of least estimated time, or the one that is forced. An error where there is
/// none (for targets of another language than C it lists all such calls), and where a forced one is
/// not there, refuses, or names no layer that variants compute. `choices`, where given, gets one
/// element for each call. With `allow_host` calls that a device has no kernel for, or only one for
/// a single thread, get the portable body and stay calls: the host's steps of a Program on a
/// device.
Result<Ok> select_kernels(Program& program, const Target& target, PackedConstants& constants,
                          std::vector<KernelChoice>* choices = nullptr,
                          std::span<const ForcedKernel> forced = {}, bool allow_host = false);
/// For the portable target.
Result<Ok> select_kernels(Program& program);

/// A line for each call: layers, kernel, what computes it, and under it the variants that do not.
/// Lines longer than `width` are broken.
std::string str(const std::vector<KernelChoice>& choices, size_t width);

}  // namespace qc
