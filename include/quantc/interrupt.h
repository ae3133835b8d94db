// Ending a call that takes long.
#pragma once

namespace quantc {

/// Calls `check` now and then, at most every 20 ms, on each thread that is inside a call of quantc.
/// When it returns true, that call ends with a Diagnostic whose text begins with "interrupted":
/// loading, calibrating, running, analyzing, compiling and compilers that a call waits for within a
/// fraction of a second; a single node and one run of compiled code end when they are done. Null,
/// as at first: nothing is called. It holds for the whole process, so `check` must be safe on every
/// such thread.
void set_interrupt_check(bool (*check)());

}  // namespace quantc
