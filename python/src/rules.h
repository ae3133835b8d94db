// Rules of Python for the library.
#pragma once

#include <nanobind/nanobind.h>
#include <quantc/quantc.h>

namespace quantc::python {

/// RuleSpecs and objects with `matches` and `scheme`, in order.
Rules rules_of(const nanobind::sequence& rules);
void bind_rules(nanobind::module_& m);

}  // namespace quantc::python
