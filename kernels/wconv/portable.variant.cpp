// wconv with codes, scales and zero points in panels of 16 outputs or, of single channels, tap by
// tap (kernels/wconv/portable.c).
#include <fmt/format.h>

#include "kernels/wconv/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

/// Where a kernel wants what belongs to one weight: codes in panels or tap by tap; scales and zero
/// points once for all weights that share them.
struct Positions {
  int64_t groups, oc, ocg, icg, taps;
  int64_t runs;  // groups of inputs that share a scale
  bool depthwise, by_tap;

  Positions(const Call& call, bool single_channels)
      : groups(call.integer("groups")),
        oc(call.integer("oc")),
        ocg(oc / groups),
        icg(call.integer("ic") / groups),
        taps(call.integer("k", 0) * call.integer("k", 1) * call.integer("k", 2)),
        runs((icg + call.integer("group") - 1) / call.integer("group")),
        depthwise(single_channels),
        by_tap(call.integer("by_tap") != 0) {}

  int64_t scale_taps() const { return by_tap ? taps : 1; }
  std::vector<int64_t> codes_shape() const { return shape(icg, taps); }
  std::vector<int64_t> scales_shape() const { return shape(runs, scale_taps()); }
  /// The place of code i of [oc][icg][taps].
  int64_t code(int64_t i) const { return position(i, icg, taps); }
  /// The place of scale i of [oc][runs][taps with by_tap].
  int64_t number(int64_t i) const { return position(i, runs, scale_taps()); }

 private:
  std::vector<int64_t> shape(int64_t inputs, int64_t positions) const {
    if (depthwise) return {positions, oc};
    return {groups, (ocg + 15) / 16, positions, inputs, 16};
  }
  int64_t position(int64_t i, int64_t inputs, int64_t positions) const {
    const int64_t o = i / (inputs * positions), tap = i % positions, k = i / positions % inputs;
    if (depthwise) return tap * oc + o;
    const int64_t panel = o / ocg * ((ocg + 15) / 16) + o % ocg / 16;
    return ((panel * positions + tap) * inputs + k) * 16 + o % ocg % 16;
  }
};

/// Codes as i8 are those of the model less this.
int32_t shift_of(DType codes) { return is_signed(codes) || bits(codes) < 8 ? 0 : 128; }

View packed_codes(const Call& call, Binder& binder, const Positions& positions) {
  const View& w = call.operand("w");
  const int32_t shift = shift_of(w.dtype);
  const std::string purpose = fmt::format("{}.{}{}", positions.depthwise ? "wdepth" : "wpanels",
                                          call.integer("groups"), shift ? ".u8" : "");
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(DType::i8, positions.codes_shape());
    for (int64_t i = 0; i < from[0].size(); ++i)
      out.set_int(positions.code(i), from[0].as_int(i) - shift);
    return out;
  };
  return binder.packed(w, {}, purpose, DType::i8, positions.codes_shape(), pack);
}

/// Scales or zero points, the latter less `shift`.
template <class T>
View packed_scales(Binder& binder, const Positions& positions, const View& scales, T shift) {
  if (!scales.present()) return {};
  const DType type = scales.dtype;
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(type, positions.scales_shape());
    for (int64_t i = 0; i < from[0].size(); ++i)
      out.mutable_data<T>()[positions.number(i)] = from[0].data<T>()[i] - shift;
    return out;
  };
  const std::string purpose =
      fmt::format("{}.{}.{}.{}.{}", positions.depthwise ? "taps" : "panels", positions.ocg,
                  positions.runs, positions.scale_taps(), shift);
  return binder.packed(scales, {}, purpose, type, positions.scales_shape(), pack);
}

Call bound(const Call& call, Binder& binder, std::string_view kernel, const Positions& positions) {
  const int32_t shift = shift_of(call.operand("w").dtype);
  Call c = Binder::like(call, kernel);
  set_view(c, "w", packed_codes(call, binder, positions));
  set_view(c, "scales", packed_scales<float>(binder, positions, call.operand("scales"), 0));
  set_view(c, "w_zeros", packed_scales<int32_t>(binder, positions, call.operand("w_zeros"), shift));
  set_integer(c, "zero", call.integer("zero") - shift);
  return c;
}

std::string refusal(const Call& call, const Binder& binder) {
  return binder.not_constant(call, {"w", "scales", "w_zeros"});
}

std::string depthwise_refusal(const Call& call, const Binder& binder) {
  std::string why = refusal(call, binder);
  const int64_t groups = call.integer("groups");
  if (why.empty() && (groups != call.integer("ic") || groups != call.integer("oc")))
    why = "groups have several channels";
  return why;
}

Result<Call> bind_panels(const Call& call, Binder& binder) {
  return bound(call, binder, "wconv_panels", Positions(call, false));
}

Result<Call> bind_depthwise(const Call& call, Binder& binder) {
  return bound(call, binder, "wconv_depthwise", Positions(call, true));
}

}  // namespace

void variants_wconv_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "wconv",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 20>,
                 .refusal = refusal,
                 .bind = bind_panels});
  out.push_back({.kernel = "wconv",
                 .name = "portable_depthwise",
                 .cost = portable_at_peak<Peak::f32, 25>,
                 .refusal = depthwise_refusal,
                 .bind = bind_depthwise});
}

}  // namespace qc
