// Rotations stored as codes, by blocks of threads (kernels/rotary/team.cu).
#include "kernels/quantize/team_bind.h"
#include "kernels/rotary/bind.h"
#include "kernels/rotary/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  return ending_refusal(call, binder, rows_of(call), length_of(call));
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_ending(call, binder, Binder::like(call, "rotary_quantize_team", {"team"}),
                     rows_of(call), length_of(call));
}

}  // namespace

void variants_rotary_team(std::vector<Variant>& out) {
  out.push_back({.kernel = "rotary_quantize",
                 .name = "team",
                 .feature = "team",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
