// Attention on codes by blocks of threads (kernels/qattention/team.cu).
#include "kernels/activation/calls.h"
#include "kernels/common/codes.h"
#include "kernels/qattention/calls.h"
#include "kernels/quantize/team_bind.h"

namespace qc {
namespace {

constexpr int64_t kMostKeys = 8192;

std::string refusal(const Call& call, const Binder& binder) {
  if (binder.largest(call.size("keys")) > kMostKeys) return "there are too many keys";
  if (call.integer("e_mode") == QK_NO_ENDING) return "";
  return ending_refusal(call, binder, call.size("batch") * call.size("e_batch"),
                        call.size("e_row"));
}

/// With an ending: floats first, of all batches, then their codes.
Result<Call> bind(const Call& call, Binder& binder) {
  Call attention = Binder::like(call, "qattention_team", {"team"});
  if (call.integer("e_mode") == QK_NO_ENDING) return attention;
  const Dim rows = call.size("batch") * call.size("e_batch"), n = call.size("e_row");
  const View floats = binder.scratch(DType::f32, {rows, n}, "floats");
  attention.params[attention.kernel->field("y_at")->at] = call.size("e_batch") * n;
  set_integer(attention, "e_mode", QK_NO_ENDING);
  set_integer(attention, "y_type", QK_F32);
  set_view(attention, "y", floats);
  attention.in_place.clear();
  binder.before(std::move(attention));
  Call codes = Binder::like(call, "activation_quantize_team", {"team", "same"});
  set_integer(codes, "rows", rows);
  set_integer(codes, "n", n);
  set_integer(codes, "x_stride", n);
  set_view(codes, "x", floats);
  set_view(codes, "floats", binder.scratch(DType::f32, {rows, n}, "floats"));
  codes.in_place.clear();
  return bind_ending(call, binder, std::move(codes), rows, n);
}

}  // namespace

void variants_qattention_team(std::vector<Variant>& out) {
  out.push_back({"qattention", "team", "team", 50, refusal, bind});
}

}  // namespace qc
