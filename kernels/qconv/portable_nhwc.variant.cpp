// qconv of channels-last codes, with weights in panels of 16 outputs and pairs of inputs
// (kernels/qconv/portable.c).
#include "kernels/qconv/nhwc.h"

namespace qc {
namespace {

/// Panels [groups][ocg / 16][runs][pairs][16][2], a run being the inputs of a line of taps where
/// they are neighbours, else those of one tap.
Result<Call> bind(const Call& call, Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const bool line = p.groups == 1 && p.dilation[2] == 1;
  const int64_t run = line ? icg * p.k[2] : icg, runs = line ? int64_t{p.k[0]} * p.k[1] : taps;
  const std::vector<int64_t> shape{p.groups, (ocg + 15) / 16, runs, (run + 1) / 2, 16, 2};
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(DType::i8, shape);
    const int8_t* w = from[0].data<int8_t>();
    int8_t* y = out.mutable_data<int8_t>();
    for (int64_t i = 0; i < from[0].size(); ++i) {
      const int64_t oc = i / (icg * taps), ic = i / taps % icg, tap = i % taps;
      const int64_t r = line ? tap / p.k[2] : tap;
      const int64_t e = line ? tap % p.k[2] * icg + ic : ic;
      const int64_t o = oc % ocg;
      const int64_t panel = (oc / ocg * shape[1] + o / 16) * runs + r;
      y[(panel * shape[3] + e / 2) * 32 + o % 16 * 2 + e % 2] = w[i];
    }
    return out;
  };
  kernel::QconvNhwc c(params_as<params::QconvParams>(call));
  c.w = binder.packed(call.operand("w"), {}, line ? "qpanels.lines" : "qpanels.taps", DType::i8,
                      shape, pack);
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_portable_nhwc(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "portable_nhwc",
                 .cost = qconv_cost<Peak::i16, 30, 16>,
                 .refusal = nhwc_refusal,
                 .bind = bind});
}

}  // namespace qc
