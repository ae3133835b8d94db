// Sizes, offsets and parameters that depend on free dimensions, as generated C has them: each
// distinct expression is computed once per run, into a table.
#pragma once

#include <string>
#include <vector>

#include "backends/common/project.h"

namespace qc {

class SizeTable {
 public:
  /// A run is given the sizes of the program's dims in their order. Its places come first.
  explicit SizeTable(const Program& program);

  /// An expression for `size`: a number, or its entry `n[i]` of the table.
  std::string operator()(const Dim& size);
  /// The expression itself, over `dims[i]` and the entries of places.
  std::string expression(const Dim& size) const;

  size_t entries() const { return sizes_.size(); }
  /// `static void NAME(const int64_t *dims, int64_t *n)`, which fills the table, and the functions
  /// that expressions call.
  std::string definition(const std::string& name) const;

 private:
  const Program& program_;
  std::vector<Dim> sizes_;
};

/// The functions that expressions over sizes call.
std::string_view size_functions();

/// NAME_size_error(dims): what is wrong with the sizes of a run, NULL where nothing is.
std::string size_error_text(const Program& program, const ProjectOptions& options);
/// NAME_arena_bytes(dims): how much arena a run with these sizes takes.
std::string arena_bytes_text(const Module& module, const ProjectOptions& options);

}  // namespace qc
