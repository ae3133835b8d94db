// What this machine can do at most, measured here and now, on one thread.
#pragma once

#include <string>

namespace qc {

struct MachinePeak {
  double int8_gmacs = 0, float_gmacs = 0;  // products from registers, billions a second
  double gbytes = 0;                       // bytes of memory, billions a second
  std::string int8_by, float_by;           // the instruction that was measured
  std::string bytes_by = "read";           // what was done to the bytes
};

/// Takes some hundredths of a second.
MachinePeak machine_peak();

}  // namespace qc
