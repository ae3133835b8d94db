// Recurrent layers on codes: weights in panels of 16 rows where all codes have 8 bits, else as they
// are (kernels/qrnn/portable.c).
#include <fmt/format.h>

#include "kernels/common/codes.h"
#include "kernels/qgemm/calls.h"
#include "kernels/qrnn/calls.h"
#include "kernels/qrnn/qrnn.h"
#include "kernels/qrnn/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

int64_t gates(const Call& call) {
  const std::string& cell = selectors::Qrnn(call).cell;
  return cell == "gru" ? 3 : cell == "lstm" ? 4 : 1;
}

std::string no_refusal(const Call&, const Binder&) { return {}; }

std::string panels_refusal(const Call& call, const Binder&) {
  if (call.integer("wide") != 0) return "accumulators need 64 bits";
  for (const char* weights : {"type_w", "type_r"}) {
    if (call.integer(weights) != QK_I8) return "weights are not i8";
  }
  for (const char* codes : {"type_x", "type_h"}) {
    if (call.integer(codes) > QK_U8) return "codes have more than 8 bits";
  }
  return {};
}

Call with_scratch(const Call& call, Binder& binder, const char* kernel, DType codes) {
  Call c = Binder::like(call, kernel, call.select);
  const int64_t hidden = call.integer("hidden"), inputs = call.integer("inputs");
  set_view(c, "floats", binder.scratch(DType::f32, {QK_QRNN_FLOATS(gates(call), hidden)}, "gates"));
  set_view(c, "codes", binder.scratch(codes, {QK_QRNN_CODES(inputs, hidden)}, "codes"));
  return c;
}

Result<Call> bind_rows(const Call& call, Binder& binder) {
  return with_scratch(call, binder, "qrnn_rows", DType::i32);
}

/// Weights [directions, gates * hidden, k] with panels of each gate's own.
Result<View> panels(const Call& call, Binder& binder, const char* operand, int64_t k) {
  const int64_t hidden = call.integer("hidden"), each = call.integer("directions") * gates(call);
  const params::QgemmPackParams pack{each, k, hidden, hidden * k, 1, k, 0};
  const int64_t panel = (hidden + 15) / 16, pairs = (k + 1) / 2;
  if (each * panel * pairs * 32 > INT32_MAX)
    return error(Code::limit, "weights of {} bytes when packed are too large",
                 each * panel * pairs * 32);
  return binder.packed_by(call.operand(operand), kernel::QgemmPack(pack), "gates", DType::i8,
                          {each, panel, pairs, 32});
}

Result<Call> bind_panels(const Call& call, Binder& binder) {
  Call c = with_scratch(call, binder, "qrnn_panels", DType::i16);
  QC_ASSIGN(View w, panels(call, binder, "w", call.integer("inputs")));
  QC_ASSIGN(View r, panels(call, binder, "r", call.integer("hidden")));
  set_view(c, "w", std::move(w));
  set_view(c, "r", std::move(r));
  const int64_t accumulators = QK_QRNN_ACCUMULATORS(gates(call), call.integer("hidden"));
  set_view(c, "accumulators", binder.scratch(DType::i32, {accumulators}, "accumulators"));
  return c;
}

}  // namespace

void variants_qrnn_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "qrnn",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::i16, 30>,
                 .refusal = panels_refusal,
                 .bind = bind_panels});
  out.push_back({.kernel = "qrnn",
                 .name = "rows",
                 .cost = portable_at_peak<Peak::scalar, 5>,
                 .refusal = no_refusal,
                 .bind = bind_rows});
}

}  // namespace qc
