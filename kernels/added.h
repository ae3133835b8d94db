// Kernels that are added while the program runs, beside those of the build (kernels/kernels.h).
// Any thread may add some while others look for one; they stay as long as the process.
#pragma once

#include <memory>
#include <set>

#include "kernels/kernels.h"

namespace qc {

/// One kernel with one body, and the C text that defines it. The names of kernels/numerics (qn_...)
/// in the text are defined where it is printed.
struct AddedKernel {
  Signature signature;
  Body body;  // its kernel is set by add_kernel
  std::string text;
  /// The same calls for a device.
  const AddedKernel* device = nullptr;
};

/// Adds a kernel under a name that no other has. `find_kernel` and `find_body` find it from then
/// on; `all_kernels` and `all_bodies` list those of the build alone.
const AddedKernel& add_kernel(AddedKernel kernel);
/// Null when no such kernel was added.
const AddedKernel* find_added_kernel(std::string_view name);
const AddedKernel* find_added_body(std::string_view symbol);
/// The names of kernels/numerics in a text, and the source of all that they need.
std::set<std::string, std::less<>> numerics_in(std::string_view text);
std::string numerics_source(std::string_view text);

}  // namespace qc
