// What the GPU of this machine can do at most, measured here and now.
#pragma once

#include "driver/machine_peak.h"
#include "support/result.h"
#include "target/target.h"

namespace qc {

/// Builds a few loops with nvcc for the GPUs of a target and runs them; with `host` they are built
/// without CUDA, and the figures are those of one thread here.
Result<MachinePeak> device_peak(const Target& target, bool host);

}  // namespace qc
