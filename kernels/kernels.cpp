#include "kernels/kernels.h"

#include <algorithm>
#include <vector>

#define QK_FAMILY(family)                        \
  extern "C" const qk_entry qk_table_##family[]; \
  extern "C" const size_t qk_count_##family;
#include "kernels/families.inc"
#undef QK_FAMILY

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

const qk_entry* find_kernel(std::string_view name) {
  auto kernels = all_kernels();
  auto it = std::lower_bound(kernels.begin(), kernels.end(), name,
                             [](const qk_entry& k, std::string_view n) { return k.name < n; });
  return it != kernels.end() && it->name == name ? &*it : nullptr;
}

std::string_view kernel_source(std::string_view path) {
  for (const Source& s : kSources) {
    if (s.path == path) return s.text;
  }
  return {};
}

}  // namespace qc
