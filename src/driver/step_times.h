// How long each kernel call of a model takes, in process.
#pragma once

#include <string>
#include <vector>

#include "driver/in_process.h"

namespace qc {

struct StepTime {
  std::vector<std::string> names;  // of the layer
  std::string kernel, variant;     // what computes it: the signature and the body's symbol
  int64_t macs = 0;
  int64_t bytes = 0;      // of operands and results
  double seconds = 0;     // the least of all runs
  bool on_codes = false;  // whether its products are of integers
};

/// Bytes of the call's operands and results that have a size now.
int64_t bytes_of(const Call& call);
/// A call that took so long by that body.
StepTime step_time(const Step& step, const Body* body, double seconds);

/// The calls of a run in order, each with the least time it took. Calls in loops and branches are
/// counted together, as often as a run makes them.
Result<std::vector<StepTime>> step_times(const InProcess& model, const std::vector<Tensor>& inputs,
                                         int runs);

}  // namespace qc
