// The portable kernels as quantc itself sees them: one table, made from every family's kernels.inc.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/copy/copy.h"

extern "C" {
/// A kernel as data. Arguments come in the order (params, inputs..., outputs...).
typedef struct qk_entry {
  const char* name;
  const char* family;  // folder under kernels
  const char* params;  // name of the parameter struct
  const char* fields;  // its members in order: "i n,i stride[2],f eps"
  size_t params_size;
  int inputs;
  int outputs;
  int stack;  // bytes it takes at most, with all it calls but C's library
  void (*run)(const void* params, const void* const* in, void* const* out);
} qk_entry;
}

namespace qc {

/// All kernels, sorted by name.
std::span<const qk_entry> all_kernels();
/// Null when there is no such kernel.
const qk_entry* find_kernel(std::string_view name);
/// The same kernel, built for the best instructions of this machine where quantc has such a form.
/// It gives the same bits.
const qk_entry* find_fast_kernel(std::string_view name);

/// Text of a file under kernels/, e.g. "kernels/copy/portable.c"; empty when there is none.
std::string_view kernel_source(std::string_view path);

}  // namespace qc
