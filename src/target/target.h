// Targets: what code is generated for. A target is a value made from its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "target/facts.h"

namespace qc {

/// What is written; a backend has each (backends/registry.h), and others may be built in.
struct Language {
  static constexpr std::string_view c = "c", cuda = "cuda";
};

struct Target {
  std::string name = {};
  std::string summary = {};
  std::string language = std::string(Language::c);
  /// Steps run on a device with memory of its own, a thread for each unit.
  bool device = false;
  /// Instruction sets that variants may use; unsigned_codes where kernels want codes of activations
  /// unsigned.
  std::vector<std::string> features = {};
  /// The macro by which kernels know it, see kernels/isa.table; empty: none.
  std::string macro = {};
  /// The macro of machines it compiles on; empty: all.
  std::string machine = {};
  /// Features that a run asks the processor for: on x86-64 by the names of __builtin_cpu_supports,
  /// elsewhere those of kernels/isa.table.
  std::vector<std::string> required = {};
  /// The oldest GPU it is for, as nvcc names it; empty: any.
  std::string architecture = {};
  /// Whether it is for that generation alone.
  bool only = false;
  /// Targets between which generated code chooses when it runs, best first; the last runs on all of
  /// the machine's processors. None: the target itself.
  std::vector<std::string> targets = {};
  /// What the machine that it stands for can do; parts have their own.
  Facts facts = {};

  /// Whether code that needs this feature is for it; code that needs none is for all.
  bool has(std::string_view feature) const;
};

/// All targets but `native`, in the order they are listed.
std::span<const Target> all_targets();
/// The target of this name; `native` is the best one that this machine runs. An error lists the
/// names.
Result<Target> find_target(std::string_view name);
/// How nvcc is told for which GPUs to compile; empty: as it likes.
std::string nvcc_flag(const Target& target);
/// Whether this machine runs code for it.
bool runs_here(const Target& target);
/// The targets that code for `target` consists of: its parts, or itself.
std::vector<Target> targets_of(const Target& target);
/// The part that a run takes on this machine; the last where it can run none.
Target target_here(const Target& target);

}  // namespace qc
