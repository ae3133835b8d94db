// Softmax by blocks of threads (kernels/softmax/team.cu).
#include "kernels/quantize/team_bind.h"
#include "kernels/softmax/calls.h"
#include "kernels/softmax/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string inner_refusal(const Call& call) {
  return call.size("inner") == 1 ? "" : "rows are no neighbours in memory";
}

std::string softmax_refusal(const Call& call, const Binder& binder) {
  if (selectors::Softmax(call).type != "f32") return "rows are not f32";
  if (std::string why = inner_refusal(call); !why.empty()) return why;
  return team_refusal(binder, call.size("n"));
}
Result<Call> bind_softmax(const Call& call, Binder&) {
  return Binder::like(call, "softmax_team", {"team", selectors::Softmax(call).op});
}

std::string quantize_refusal(const Call& call, const Binder& binder) {
  if (std::string why = inner_refusal(call); !why.empty()) return why;
  return ending_refusal(call, binder, call.size("outer"), call.size("n"));
}
Result<Call> bind_quantize(const Call& call, Binder& binder) {
  return bind_ending(call, binder, Binder::like(call, "softmax_quantize_team", {"team"}),
                     call.size("outer"), call.size("n"));
}

}  // namespace

void variants_softmax_team(std::vector<Variant>& out) {
  out.push_back({.kernel = "softmax",
                 .name = "team",
                 .feature = "team",
                 .cost = moving,
                 .refusal = softmax_refusal,
                 .bind = bind_softmax});
  out.push_back({.kernel = "softmax_quantize",
                 .name = "team",
                 .feature = "team",
                 .cost = moving,
                 .refusal = quantize_refusal,
                 .bind = bind_quantize});
}

}  // namespace qc
