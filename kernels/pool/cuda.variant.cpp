// pool, an output per thread (kernels/pool/cuda.cu).
#include <fmt/format.h>

#include "kernels/pool/calls.h"
#include "kernels/pool/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder&) {
  const selectors::Pool select(call);
  const std::vector<std::string> wanted{"cuda", select.op, select.type};
  if (find_body(*find_kernel(kernel::PoolDevice::kName), wanted)) return {};
  return fmt::format("there is no {} pool of {}", select.op, select.type);
}

Result<Call> bind(const Call& call, Binder&) {
  kernel::PoolDevice c(params_as<params::PoolParams>(call));
  c.machine = "cuda";
  const selectors::Pool select(call);
  c.op = select.op;
  c.type = select.type;
  return Binder::bound(call, c);
}

}  // namespace

void variants_pool_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "pool",
                 .name = "cuda",
                 .feature = "cuda",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
