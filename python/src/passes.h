// Passes of Python for the library.
#pragma once

#include <nanobind/nanobind.h>
#include <quantc/quantc.h>

namespace quantc::python {

/// The model with its network changed by `pass`, an object with `run(graph)`.
Model transformed(const Model& model, const nanobind::object& pass);
void bind_passes(nanobind::module_& m);

}  // namespace quantc::python
