// A variant outside quantc's tree, built in with -DQUANTC_EXTRA_KERNELS=examples/extra_kernels: it
// is estimated to be faster than panels of 16 outputs where there are few outputs.
#include "kernels/qgemm/estimate.h"
#include "kernels/qgemm_naive/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder&) {
  for (const char* operand : {"w_zeros", "x_scales", "x_zeros"}) {
    if (call.operand(operand).present()) return "zero points or scales are operands";
  }
  return c_params<qk_qgemm_call>(call).flip ? "weights are unsigned" : "";
}

/// One product after another, and no lane without an output.
double cost(const Call& call, const Binder& binder) {
  const double gmacs = portable_gmacs(binder.target(), Peak::scalar) / 2;
  return gemm_nanoseconds(call, binder, qgemm_size(call), gmacs);
}

Result<Call> bind(const Call& call, Binder&) {
  return Binder::bound(call, kernel::QgemmNaive(params_as<params::QgemmCall>(call)));
}

}  // namespace

void variants_qgemm_naive_naive(std::vector<Variant>& out) {
  out.push_back(
      {.kernel = "qgemm", .name = "naive", .cost = cost, .refusal = refusal, .bind = bind});
}

}  // namespace qc
