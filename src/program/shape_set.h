// ShapeSet: the programs of one model for every size of a free dimension, or the one program where
// no dimension is free. Sizes whose programs call the same kernels on the same buffers make a
// specialisation; inside one only numbers differ (parameters, offsets, sizes of buffers), and all
// its programs are planned together.
#pragma once

#include <span>

#include "program/plan.h"

namespace qc {

/// Whether two programs differ in numbers only.
bool same_structure(const Program& a, const Program& b);

struct ShapeSet {
  std::string symbol;                   // the free dimension; empty: none
  int64_t min = 0, max = 0;             // as asked for
  std::vector<int64_t> sizes;           // those in between that the model allows, ascending
  std::vector<Program> programs;        // one for each size
  std::vector<size_t> specialisations;  // the first program of each
  std::vector<Dims> inputs, outputs;    // shapes with the dimension as symbol

  /// The set of one planned program.
  static ShapeSet of(Program program);

  bool is_free() const { return !symbol.empty(); }
  /// The program of the largest size.
  const Program& largest() const { return programs.back(); }
  /// Finds the specialisations and plans each; every program gets the arena of the largest. An
  /// error when there are more than code should be written for.
  Result<Ok> plan(const PlanOptions& options);
  /// The programs of specialisation `i`, and their sizes.
  std::span<const Program> specialisation(size_t i) const;
  std::span<const int64_t> specialisation_sizes(size_t i) const;
  /// The program whose inputs have these shapes; null when there is none.
  const Program* find(const std::vector<std::vector<int64_t>>& shapes) const;

 private:
  size_t end(size_t i) const {
    return i + 1 < specialisations.size() ? specialisations[i + 1] : programs.size();
  }
};

}  // namespace qc
