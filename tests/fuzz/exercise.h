// What the fuzz targets and the tests of damaged files put every graph through that loads.
#pragma once

#include "ir/graph.h"

namespace qc {

/// Runs the passes with the verifier on, the interpreter, and the planned Program, on inputs made
/// up. Graphs that would take long to run are only compiled. The first error is returned; an
/// answer of the Program that differs from the interpreter's is one of them (code `bug`).
Result<Ok> exercise(Graph& graph);

/// The same for fuzz targets: an error that is quantc's own aborts.
inline void exercise_all(Graph& graph) {
  const Result<Ok> done = exercise(graph);
  QC_CHECK(done.ok() || done.diag().code != Code::bug, render(done.diag()).c_str());
}

}  // namespace qc
