// sink_transposes: moves transposes down past elementwise ops to other transposes, and merges
// views.
//
//   transpose(transpose(x))                      ->  one transpose, or x
//   transpose(f(transpose(x), scalar))           ->  one transpose after f, or f alone
//   add(transpose(x), transpose(y))              ->  transpose(add(x, y))
//   reshape(reshape(x))                          ->  reshape(x)
//
// Relies on IsTranspose, on kElementwise ops having no attribute that names an axis, and on
// kReshapes ops keeping all bytes in order. Constants beside a moved transpose are permuted at
// compile time. The number of transposes never grows.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> sink_transposes(Graph& graph, PassContext& context);

}  // namespace qc
