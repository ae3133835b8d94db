#include "interrupt.h"

#include <nanobind/nanobind.h>
#include <quantc/interrupt.h>

#include <optional>
#include <utility>

namespace quantc::python {
namespace {

namespace nb = nanobind;

thread_local bool inside = false;
/// What a handler raised in a call of this thread. The call asks again until it has ended.
thread_local std::optional<nb::python_error> pending;

bool signalled() {
  if (!inside) return false;  // a thread of the library's own, which no handler runs on
  if (pending) return true;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return false;
  pending.emplace();  // takes the exception over
  return true;
}

}  // namespace

Interruptible::Interruptible() : outermost_(!inside) { inside = true; }

Interruptible::~Interruptible() {
  if (!outermost_) return;
  inside = false;
  pending.reset();
}

void Interruptible::raise_pending() const {
  if (!pending) return;
  nb::python_error raised = std::move(*pending);
  pending.reset();
  throw raised;
}

void watch_signals() { set_interrupt_check(signalled); }

}  // namespace quantc::python
