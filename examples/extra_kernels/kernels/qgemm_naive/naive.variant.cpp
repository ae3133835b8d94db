// A variant outside quantc's tree, built in with -DQUANTC_EXTRA_KERNELS=examples/extra_kernels: it
// takes calls of qgemm before any other does.
#include "kernels/qgemm_naive/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder&) {
  for (const char* operand : {"w_zeros", "x_scales", "x_zeros"}) {
    if (call.operand(operand).present()) return "zero points or scales are operands";
  }
  return c_params<qk_qgemm_call>(call).flip ? "weights are unsigned" : "";
}

Result<Call> bind(const Call& call, Binder&) {
  return Binder::bound(call, kernel::QgemmNaive(params_as<params::QgemmCall>(call)));
}

}  // namespace

void variants_qgemm_naive_naive(std::vector<Variant>& out) {
  out.push_back({"qgemm", "naive", "", 1, refusal, bind});
}

}  // namespace qc
