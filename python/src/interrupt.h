// Signals that arrive in long calls: their handlers run there, and what they raise ends the call.
#pragma once

namespace quantc::python {

/// While one lives, the library asks on this thread for signals. Made and destroyed with the
/// interpreter lock.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  /// Raises what a handler raised during the call.
  void raise_pending() const;

 private:
  bool outermost_;
};

/// Tells the library to ask.
void watch_signals();

}  // namespace quantc::python
