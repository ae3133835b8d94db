// Softmax stored as codes, some rows at a time (kernels/softmax/portable.c).
#include "kernels/quantize/ending_bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "softmax_quantize_rows", call.size("outer"),
                   call.size("n") * call.size("inner"));
}

}  // namespace

void variants_softmax_portable(std::vector<Variant>& out) {
  out.push_back({"softmax_quantize", "portable", "", 100, no_refusal, bind});
}

}  // namespace qc
