#include "target/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/common/processor.h"
#include "support/diag.h"
#include "support/suggest.h"

namespace qc {
namespace {

/// A row of gpus.inc. sm_90a alone has instructions that no other generation has.
Target gpu(const std::string& architecture, const std::string& generation,
           const std::vector<std::string>& more, Facts facts) {
  Target target{.name = "cuda:" + architecture,
                .summary = "CUDA C++ for NVIDIA GPUs from " + generation + " on",
                .language = std::string(Language::cuda),
                .device = true,
                .features = {"cuda", "block"},
                .architecture = architecture,
                .only = architecture.ends_with('a'),
                .facts = std::move(facts)};
  if (target.only)
    target.summary = "CUDA C++ for NVIDIA's " + generation + " GPUs (H100, H200) alone";
  target.features.insert(target.features.end(), more.begin(), more.end());
  return target;
}

std::vector<Target> gpus() {
  constexpr int64_t kWarpBytes = 32 * 4, kKib = 1024;
#define QC_LIST(...) \
  { __VA_ARGS__ }
#define QC_GPU(architecture, generation, more, name, ghz, processors, f32, i16, i8, tensor, \
               memory, l2, block, multiprocessor)                                           \
  gpu(architecture, generation, more,                                                       \
      {.machine = name,                                                                     \
       .clock_ghz = ghz,                                                                    \
       .multiprocessors = processors,                                                       \
       .vector_bytes = kWarpBytes,                                                          \
       .f32_gmacs = f32,                                                                    \
       .i16_gmacs = i16,                                                                    \
       .i8_gmacs = i8,                                                                      \
       .tensor_gmacs = tensor,                                                              \
       .memory_gbs = memory,                                                                \
       .l2_bytes = l2,                                                                      \
       .shared_block = (block)*kKib,                                                        \
       .shared_multiprocessor = (multiprocessor)*kKib}),
  return {
#include "target/gpus.inc"
  };
#undef QC_GPU
#undef QC_LIST
}

/// Those of the table of instruction sets, in its order.
std::vector<Target> isa_targets() {
#define QK_LIST(...) \
  { __VA_ARGS__ }
#define QK_ISA(target, about, selects, processor, offers, needs, ...) \
  {.name = target,                                                    \
   .summary = about,                                                  \
   .features = offers,                                                \
   .macro = selects,                                                  \
   .machine = processor,                                              \
   .required = needs,                                                 \
   .facts = {__VA_ARGS__}},
  return {
#include "kernels/isa.inc"
  };
#undef QK_ISA
#undef QK_LIST
}

/// Code for all targets of x86-64 that chooses between them when it runs.
Target any_x86(std::span<const Target> isas) {
  Target out{.name = "x86",
             .summary = "x86-64, the best of the above for the processor it runs on",
             .machine = "__x86_64__",
             .targets = {"portable"}};
  for (const Target& t : isas) {
    if (t.machine == out.machine) out.targets.insert(out.targets.begin(), t.name);
  }
  return out;
}

std::vector<Target> make_targets() {
  std::vector<Target> all = isa_targets();
  const auto last_x86 = std::find_if(all.rbegin(), all.rend(), [](const Target& t) {
                          return t.machine == "__x86_64__";
                        }).base();
  all.insert(last_x86, any_x86(all));
  all.insert(all.begin(), {.name = "portable", .summary = "C11 for any machine and compiler"});
  all.push_back({.name = "cuda",
                 .summary = "CUDA C++ for NVIDIA GPUs, the best for the one it runs on",
                 .language = std::string(Language::cuda),
                 .device = true,
                 .targets = {"cuda:sm_80", "cuda:sm_75"}});
  const std::vector<Target> devices = gpus();
  all.insert(all.end(), devices.begin(), devices.end());
  const std::vector<Target> others = {
#include "extra_targets.inc"  // of backends from outside the tree
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

/// Words for machines that are no names of targets, by their beginning, and the target for each.
struct MachineWord {
  std::string_view word, target;
};
constexpr MachineWord kMachineWords[] = {
    {"arm64", "aarch64"},
    {"armv8", "aarch64"},
    {"apple", "aarch64"},
    {"neon", "aarch64"},
    {"arm", "portable"},
    {"cortex", "portable"},
    {"thumb", "portable"},
    {"stm32", "portable"},
    {"esp", "portable"},
    {"xtensa", "portable"},
    {"riscv", "portable"},
    {"rv", "portable"},
    {"avr", "portable"},
    {"nrf", "portable"},
    {"rp2", "portable"},
    {"mcu", "portable"},
    {"wasm", "portable"},
    {"generic", "portable"},
    {"any", "portable"},
    {"c", "portable"},
    {"x86_64", "x86"},
    {"x86-64", "x86"},
    {"x64", "x86"},
    {"amd64", "x86"},
    {"intel", "x86"},
    {"avx512", "x86-avx512vnni"},
    {"vnni", "x86-avx512vnni"},
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"host", "native"},
    {"local", "native"},
    {"this", "native"},
    {"cpu", "native"},
};

/// What is meant by a name that no target has.
std::string meant_target(std::string_view name, const std::vector<std::string>& names) {
  const MachineWord* known = nullptr;
  for (const MachineWord& m : kMachineWords) {
    const bool whole = m.word.size() < 2;
    if (!known && (whole ? name == m.word : name.starts_with(m.word))) known = &m;
  }
  if (!known) return did_you_mean(name, names);
  return fmt::format("; did you mean '{}'?", known->target);
}

bool processor_has(std::string_view wanted) {
#define QK_HAS(feature, has) \
  if (wanted == feature) return static_cast<bool>(has);
#include "kernels/isa.inc"
#undef QK_HAS
  return false;
}

#if defined(__x86_64__)
constexpr std::string_view kMachine = "__x86_64__";
#elif defined(__aarch64__)
constexpr std::string_view kMachine = "__aarch64__";
#else
constexpr std::string_view kMachine = "";
#endif

}  // namespace

bool Target::has(std::string_view feature) const {
  if (feature.empty()) return true;
  return std::find(features.begin(), features.end(), feature) != features.end();
}

std::span<const Target> all_targets() {
  static const std::vector<Target> targets = make_targets();
  return targets;
}

std::string nvcc_flag(const Target& target) {
  if (target.architecture.empty()) return "";
  if (!target.only) return "-arch=" + target.architecture;
  // With -arch nvcc would also compile for the generations after it.
  return fmt::format("-gencode=arch=compute_{0},code=sm_{0}", target.architecture.substr(3));
}

bool runs_here(const Target& target) {
  if (target.language != Language::c) return false;
  if (target.machine.empty()) return true;
  if (target.machine != kMachine) return false;
  return std::all_of(target.required.begin(), target.required.end(), processor_has);
}

Result<Target> find_target(std::string_view name) {
  if (name == "native") {
    const Target* best = nullptr;
    for (const Target& t : all_targets()) {
      if (runs_here(t) && t.targets.empty()) best = &t;
    }
    return *best;
  }
  std::vector<std::string> names;
  for (const Target& t : all_targets()) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  names.push_back("native");
  return error(Code::usage, "there is no target '{}': use one of {}{}", name,
               fmt::join(names, ", "), meant_target(name, names));
}

std::vector<Target> targets_of(const Target& target) {
  if (target.targets.empty()) return {target};
  std::vector<Target> out;
  for (const std::string& name : target.targets) {
    Result<Target> part = find_target(name);
    QC_CHECK(part.ok(), "a part of a target is none");
    out.push_back(std::move(*part));
  }
  return out;
}

Target target_here(const Target& target) {
  const std::vector<Target> targets = targets_of(target);
  for (const Target& part : targets) {
    if (runs_here(part)) return part;
  }
  return targets.back();
}

}  // namespace qc
