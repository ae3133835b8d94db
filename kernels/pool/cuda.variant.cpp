// pool, an output per thread (kernels/pool/cuda.cu).
#include <fmt/format.h>

#include "kernels/pool/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder&) {
  const std::vector<std::string> select{"cuda", call.select[0], call.select[1]};
  if (find_body(*find_kernel(kernel::PoolDevice::kName), select)) return {};
  return fmt::format("there is no {} pool of {}", select[1], select[2]);
}

Result<Call> bind(const Call& call, Binder&) {
  kernel::PoolDevice c(params_as<params::PoolParams>(call));
  c.machine = "cuda";
  c.op = call.select[0];
  c.type = call.select[1];
  return Binder::bound(call, c);
}

}  // namespace

void variants_pool_cuda(std::vector<Variant>& out) {
  out.push_back({"pool", "cuda", "cuda", 100, refusal, bind});
}

}  // namespace qc
