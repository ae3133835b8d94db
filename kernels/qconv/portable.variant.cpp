// qconv with weights as the model has them, or channels-last with weights in panels of 16 outputs
// and pairs of inputs, or of single channels (kernels/qconv/portable.c).
#include "kernels/qconv/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

bool is_depthwise(const qk_qconv_params& p) { return p.groups == p.ic && p.groups == p.oc; }

std::string takes_all(const Call&, const Binder&) { return {}; }

std::string nhwc_refusal(const Call& call, const Binder&) {
  const auto p = c_params<qk_qconv_params>(call);
  if (!p.nhwc) return "operands are not channels-last";
  if (call.select[1] != "i8" || call.select[2] != "i32") return "accumulators take 64 bits";
  return call.proved("narrow_x") ? "" : "codes less their zero points take more than 16 bits";
}

std::string depthwise_refusal(const Call& call, const Binder& binder) {
  std::string why = nhwc_refusal(call, binder);
  if (why.empty() && !is_depthwise(c_params<qk_qconv_params>(call)))
    why = "groups have several channels";
  return why;
}

template <class KernelCall>
Call bound(const Call& call, KernelCall c, View w) {
  c.w = std::move(w);
  return Binder::bound(call, c);
}

Result<Call> bind_plain(const Call& call, Binder&) {
  kernel::QconvPlain c(params_as<params::QconvParams>(call));
  c.x_codes = call.select[0];
  c.w_codes = call.select[1];
  c.accumulator = call.select[2];
  return bound(call, c, call.operand("w"));
}

/// Panels [groups][ocg / 16][runs][pairs][16][2], a run being the inputs of a line of taps where
/// they are neighbours, else those of one tap.
Result<Call> bind_nhwc(const Call& call, Binder& binder) {
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
  View w = binder.packed(call.operand("w"), {}, line ? "qpanels.lines" : "qpanels.taps", DType::i8,
                         shape, pack);
  return bound(call, kernel::QconvNhwc(params_as<params::QconvParams>(call)), std::move(w));
}

/// Weights [taps][channels].
Result<Call> bind_depthwise(const Call& call, Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t channels = p.oc, taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(DType::i8, {taps, channels});
    const int8_t* w = from[0].data<int8_t>();
    int8_t* y = out.mutable_data<int8_t>();
    for (int64_t i = 0; i < channels * taps; ++i) y[i % taps * channels + i / taps] = w[i];
    return out;
  };
  View w = binder.packed(call.operand("w"), {}, "qdepthwise", DType::i8, {taps, channels}, pack);
  return bound(call, kernel::QconvDepthwise(params_as<params::QconvParams>(call)), std::move(w));
}

}  // namespace

void variants_qconv_portable(std::vector<Variant>& out) {
  out.push_back({"qconv", "portable", "", 300, takes_all, bind_plain});
  out.push_back({"qconv", "portable_nhwc", "", 200, nhwc_refusal, bind_nhwc});
  out.push_back({"qconv", "portable_depthwise", "", 100, depthwise_refusal, bind_depthwise});
}

}  // namespace qc
