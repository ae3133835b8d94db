// Ops written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace quantc::python {

void bind_ops(nanobind::module_& m);

}  // namespace quantc::python
