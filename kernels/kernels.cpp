#include "kernels/kernels.h"

#include <algorithm>
#include <vector>

#define QK_FAMILY(family)                        \
  extern "C" const qk_entry qk_table_##family[]; \
  extern "C" const size_t qk_count_##family;
#include "kernels/families.inc"
#undef QK_FAMILY
#define QK_FORM(form, family)                             \
  extern "C" const qk_entry qk_table_##family##_##form[]; \
  extern "C" const size_t qk_count_##family##_##form;
#include "kernels/forms.inc"
#undef QK_FORM

namespace qc {
namespace {
struct Source {
  std::string_view path;
  std::string_view text;
};
#include "kernels/sources.inc"
}  // namespace

std::span<const qk_entry> all_kernels() {
  static const std::vector<qk_entry> kernels = [] {
    std::vector<qk_entry> all;
#define QK_FAMILY(family) \
  all.insert(all.end(), qk_table_##family, qk_table_##family + qk_count_##family);
#include "kernels/families.inc"
#undef QK_FAMILY
    std::sort(all.begin(), all.end(), [](const qk_entry& a, const qk_entry& b) {
      return std::string_view(a.name) < b.name;
    });
    return all;
  }();
  return kernels;
}

namespace {

const qk_entry* find_in(std::span<const qk_entry> kernels, std::string_view name) {
  auto it = std::lower_bound(kernels.begin(), kernels.end(), name,
                             [](const qk_entry& k, std::string_view n) { return k.name < n; });
  return it != kernels.end() && it->name == name ? &*it : nullptr;
}

#if defined(__x86_64__)
[[maybe_unused]] bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
[[maybe_unused]] bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

const qk_entry* find_kernel(std::string_view name) { return find_in(all_kernels(), name); }

const qk_entry* find_fast_kernel(std::string_view name) {
  static const std::vector<qk_entry> kernels = [] {
    std::vector<qk_entry> all(all_kernels().begin(), all_kernels().end());
    [[maybe_unused]] auto replace = [&](const qk_entry* table, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const_cast<qk_entry*>(find_in(all, table[i].name))->run = table[i].run;
      }
    };
#define QK_FORM(form, family) \
  if (has_##form()) replace(qk_table_##family##_##form, qk_count_##family##_##form);
#include "kernels/forms.inc"
#undef QK_FORM
    return all;
  }();
  return find_in(kernels, name);
}

std::string_view kernel_source(std::string_view path) {
  for (const Source& s : kSources) {
    if (s.path == path) return s.text;
  }
  return {};
}

}  // namespace qc
