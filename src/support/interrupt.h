// Ends long work when whoever called asks for it: Ctrl-C in Python, a button of a program.
#pragma once

#include <atomic>

namespace qc {

using InterruptCheck = bool (*)();

/// Asked now and then by threads that count their work; null: nobody is. Whatever it starts must be
/// safe on every thread that calls quantc.
extern std::atomic<InterruptCheck> interrupt_check;

/// Whether the work of this thread is to end. It asks at most every 20 ms and costs nothing before.
bool interrupted();

/// Throws BudgetSpent when the work of this thread is to end.
void end_if_interrupted();

}  // namespace qc
