// The printer of steps in CUDA C++: a kernel per instance, a launch per call.
#pragma once

#include "backends/common/steps.h"

namespace qc::cuda {

class Source : public StepPrinter {
 public:
  using StepPrinter::StepPrinter;

  std::string uploads, downloads;  // statements that copy inputs and outputs

 protected:
  std::string definition(const Instance& instance) const override;
  std::string invocation(const Step& step, const Instance& instance, const std::string& params,
                         const std::string& args) const override;
  /// A thread per unit, each with a part of the call for itself.
  std::string part_definition(const Instance& instance) override;
  std::string parallel(const Step& step, const Instance& instance, const std::string& params,
                       const std::string& in, const std::string& out, const std::string& units,
                       const std::string& pad) const override;
  std::string copy(const Step& step, const std::string& from, const std::string& to, int64_t bytes,
                   bool to_device) override;
};

}  // namespace qc::cuda
