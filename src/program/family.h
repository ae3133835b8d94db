// Family: the programs of one model for every size of a free dimension. Sizes whose programs call
// the same kernels on the same buffers make a form; inside a form only numbers differ (parameters,
// offsets, sizes of buffers), and all programs are planned together.
#pragma once

#include <span>

#include "program/plan.h"

namespace qc {

/// Whether two programs differ in numbers only.
bool same_structure(const Program& a, const Program& b);

struct Family {
  std::string symbol;                 // the free dimension
  int64_t min = 0, max = 0;           // as asked for
  std::vector<int64_t> sizes;         // those in between that the model allows, ascending
  std::vector<Program> programs;      // one for each size
  std::vector<size_t> forms;          // the first program of each form
  std::vector<Dims> inputs, outputs;  // shapes with the dimension as symbol

  /// Finds the forms and plans each; every program gets the arena of the largest. An error when
  /// there are more forms than code should be written for.
  Result<Ok> plan(const PlanOptions& options);
  /// The programs of form `i`, and their sizes.
  std::span<const Program> form(size_t i) const;
  std::span<const int64_t> form_sizes(size_t i) const;
  /// The program whose inputs have these shapes; null when there is none.
  const Program* find(const std::vector<std::vector<int64_t>>& shapes) const;

 private:
  size_t form_end(size_t i) const { return i + 1 < forms.size() ? forms[i + 1] : programs.size(); }
};

/// What a printer reads: the programs of a family, or one program alone.
struct Programs {
  Programs(const Program& program) : all(&program, 1) {}
  Programs(const Family& f) : all(f.programs), family(&f) {}

  std::span<const Program> all;
  const Family* family = nullptr;  // null: no dimension is free
  /// The program of the largest size.
  const Program& largest() const { return all.back(); }
};

}  // namespace qc
