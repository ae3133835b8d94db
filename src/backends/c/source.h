// The printer of steps in standalone C.
#pragma once

#include "backends/common/steps.h"

namespace qc {

class Source : public StepPrinter {
 public:
  using StepPrinter::StepPrinter;

 protected:
  std::string definition(const Instance& instance) const override;
  std::string invocation(const Step& step, const Instance& instance, const std::string& params,
                         const std::string& args) const override;
  std::string copy(const Step& step, const std::string& from, const std::string& to,
                   const std::string& bytes, bool to_device) override;
  std::string subrange_definition(const Instance& instance) override;
  std::string parallel(const Step& step, const Instance& instance, const std::string& params,
                       const std::string& in, const std::string& out, const std::string& units,
                       const std::string& pad) const override;

 private:
  bool call_type_ = false;  // the type of what parts are handed is written
};

}  // namespace qc
