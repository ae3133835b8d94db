// The printer of steps in CUDA C++: a kernel per instance, a launch per call.
#pragma once

#include "backends/common/steps.h"

namespace qc::cuda {

class Source : public StepPrinter {
 public:
  /// `device` says where constants lie on the device, `weights` where in the model's weights;
  /// kernels are empty in code for GPUs below `capability`.
  Source(const ProjectOptions& options, const WeightMap& weights, const WeightMap& device,
         const Program& program, int capability)
      : StepPrinter(options, device, program), host_weights_(weights), capability_(capability) {}

  std::string uploads, downloads;  // statements that copy inputs and outputs

 protected:
  /// Kernels are handed what is free: the table of sizes is the host's.
  bool reads_sizes() const override { return false; }
  bool may_share(const Call& call) const override;
  std::string literal(const std::string& type, const std::string& values) const override;
  std::string definition(const Instance& instance) const override;
  std::string invocation(const Step& step, const Instance& instance, const std::string& params,
                         const std::string& args) const override;
  /// A thread per unit, each with a part of the call for itself.
  std::string subrange_definition(const Instance& instance) override;
  std::string parallel(const Step& step, const Instance& instance, const std::string& params,
                       const std::string& in, const std::string& out, const std::string& units,
                       const std::string& pad) const override;
  std::string copy(const Step& step, const std::string& from, const std::string& to,
                   const std::string& bytes, bool to_device) override;
  std::string memory(const Buffer& buffer) const override;
  int64_t constant_offset(const Buffer& buffer) const override;
  std::string counted_units(const Call& call) override;

 private:
  static std::string params_function(const Instance& instance);
  /// What subrange_definition writes of a kernel that is computed by vectors.
  std::string vector_definition(const Instance& instance, const std::string& declared,
                                const std::string& passed, const std::string& in,
                                const std::string& out, const std::string& present) const;
  /// `statement` as the body of a kernel for the GPUs of this part.
  std::string for_gpus(const std::string& statement) const;
  std::string host_call(const Step& step, const Instance& instance, const std::string& args) const;

  const WeightMap& host_weights_;
  int capability_;
};

}  // namespace qc::cuda
