// Attention on codes with vpdpbusd (kernels/qattention/avx512vnni.c).
#include "kernels/qattention/bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder&) {
  const Dim& depth = call.size("depth");
  if (!depth.is_static()) return "the depth of heads is free";
  if (depth.value() < QK_BYTES_LEAST_DEPTH) return "heads have few codes a row";
  return depth.value() > QK_BYTES_MOST_DEPTH ? "heads are too deep" : "";
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_queries(call, binder, "qattention_bytes", {"avx512vnni"});
}

}  // namespace

void variants_qattention_avx512vnni(std::vector<Variant>& out) {
  out.push_back({.kernel = "qattention",
                 .name = "avx512vnni",
                 .feature = "avx512vnni",
                 .cost = at_peak<Peak::i8, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
