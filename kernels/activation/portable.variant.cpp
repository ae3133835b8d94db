// Activations stored as codes, some rows at a time (kernels/activation/portable.c).
#include "kernels/quantize/ending_bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "activation_quantize_rows", call.size("rows"), call.size("n"));
}

}  // namespace

void variants_activation_portable(std::vector<Variant>& out) {
  out.push_back({"activation_quantize", "portable", "", 100, no_refusal, bind});
}

}  // namespace qc
