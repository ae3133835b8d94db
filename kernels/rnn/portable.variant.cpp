// Recurrent layers with weights in panels of 16 gates (kernels/rnn/portable.c).
#include "kernels/gemm/bind.h"
#include "kernels/rnn/calls.h"
#include "kernels/rnn/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

/// Weights [directions, outputs, k] in panels.
Result<View> panels(const Call& call, Binder& binder, const char* operand, int64_t outputs,
                    int64_t k) {
  const PlainMatrices w{call.size("directions"), k, outputs, outputs * k, 1, k};
  return float_panels(binder, call.operand(operand), w);
}

Result<Call> bound(const Call& call, Binder& binder, Call c, int64_t gates) {
  const int64_t hidden = call.integer("hidden");
  QC_ASSIGN(View w, panels(call, binder, "w", gates * hidden, call.integer("inputs")));
  QC_ASSIGN(View r, panels(call, binder, "r", gates * hidden, hidden));
  set_view(c, "w", std::move(w));
  set_view(c, "r", std::move(r));
  set_view(c, "scratch", binder.scratch(DType::f32, {QK_RNN_SCRATCH(gates, hidden)}, "gates"));
  return c;
}

Result<Call> bind_rnn(const Call& call, Binder& binder) {
  return bound(call, binder, Binder::like(call, "rnn_panels", call.select),
               selectors::Rnn(call).cell == "gru" ? 3 : 1);
}

Result<Call> bind_lstm(const Call& call, Binder& binder) {
  return bound(call, binder, Binder::like(call, "lstm_panels"), 4);
}

}  // namespace

void variants_rnn_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "rnn",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = refusal,
                 .bind = bind_rnn});
  out.push_back({.kernel = "lstm",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = refusal,
                 .bind = bind_lstm});
}

}  // namespace qc
