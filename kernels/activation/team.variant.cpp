// Activations stored as codes, by blocks of threads (kernels/activation/team.cu).
#include "kernels/activation/calls.h"
#include "kernels/quantize/team_bind.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  return ending_refusal(call, binder, call.size("rows"), call.size("n"));
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_ending(call, binder,
                     Binder::like(call, "activation_quantize_team", {"team", call.select[0]}),
                     call.size("rows"), call.size("n"));
}

}  // namespace

void variants_activation_team(std::vector<Variant>& out) {
  out.push_back({"activation_quantize", "team", "team", 50, refusal, bind});
}

}  // namespace qc
