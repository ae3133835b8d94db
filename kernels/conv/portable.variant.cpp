// conv in portable C (kernels/conv/portable.c): channels-last floats with packed weights, all
// others with plain ones.
#include <fmt/format.h>

#include "kernels/conv/calls.h"
#include "kernels/conv/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string takes_all(const Call&, const Binder&) { return {}; }

std::string nhwc_refusal(const Call& call, const Binder&) {
  if (call.integer("nhwc") == 0) return "channels come before positions";
  return selectors::Conv(call).type == "f32" ? "" : "elements are not f32";
}

/// Panels of 16 outputs of a group.
template <int percent>
double nhwc_cost(const Call& call, const Binder& binder) {
  const int64_t outputs = call.integer("oc") / call.integer("groups");
  return estimate(
      call, binder,
      portable_gmacs(binder.target(), Peak::f32) * percent / 100 / padding(outputs, 16));
}

std::string depthwise_refusal(const Call& call, const Binder& binder) {
  std::string why = nhwc_refusal(call, binder);
  const int64_t groups = call.integer("groups");
  if (why.empty() && (groups != call.integer("ic") || groups != call.integer("oc")))
    why = "groups have several channels";
  return why;
}

Result<Call> bind_plain(const Call& call, Binder&) {
  return Binder::like(call, "conv_plain", call.select);
}

params::ConvPackParams packing(const Call& call) {
  const int64_t groups = call.integer("groups");
  return {groups, call.integer("oc") / groups, call.integer("ic") / groups,
          call.size("k", 0) * call.size("k", 1) * call.size("k", 2)};
}

Call with_weights(const Call& call, std::string_view kernel, View w) {
  Call c = Binder::like(call, kernel);
  set_view(c, "w", std::move(w));
  set_integer(c, "nhwc", 0);  // it says nothing to a kernel that takes no other
  return c;
}

/// Panels [groups][ocg / 16][taps][icg][16].
Result<Call> bind_nhwc(const Call& call, Binder& binder) {
  const params::ConvPackParams p = packing(call);
  View w = binder.packed_by(call.operand("w"), kernel::ConvPack(p),
                            fmt::format("nhwc.{}", p.groups.str()), DType::f32,
                            {p.groups, ceildiv(p.ocg, 16), p.taps, p.icg, 16});
  return with_weights(call, "conv_nhwc", std::move(w));
}

/// Weights [taps][channels].
Result<Call> bind_depthwise(const Call& call, Binder& binder) {
  const params::ConvPackParams p = packing(call);
  View w =
      binder.packed_by(call.operand("w"), kernel::ConvDepthwisePack(p),
                       fmt::format("depthwise.{}", p.groups.str()), DType::f32, {p.taps, p.groups});
  return with_weights(call, "conv_depthwise", std::move(w));
}

}  // namespace

void variants_conv_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "conv",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::scalar, 5>,
                 .refusal = takes_all,
                 .bind = bind_plain});
  out.push_back({.kernel = "conv",
                 .name = "portable_nhwc",
                 .cost = nhwc_cost<50>,
                 .refusal = nhwc_refusal,
                 .bind = bind_nhwc});
  out.push_back({.kernel = "conv",
                 .name = "portable_depthwise",
                 .cost = portable_at_peak<Peak::f32, 25>,
                 .refusal = depthwise_refusal,
                 .bind = bind_depthwise});
}

}  // namespace qc
