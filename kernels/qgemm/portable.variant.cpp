// qgemm with weights in panels of 16 outputs and pairs of inputs (kernels/qgemm/portable.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

/// Panels of constant weights are made when they are written, others before the call.
View panels(const Call& call, const params::QgemmCall& p, Binder& binder) {
  const Dim matrices = p.w_batch == 0 ? Dim(1) : p.batch;
  const kernel::QgemmPack pack(
      params::QgemmPackParams{matrices, p.k, p.n, p.w_batch, p.w_k, p.w_n, p.flip});
  return binder.packed_by(call.operand("w"), pack, p.w_k == 1 ? "qpanels.rows" : "qpanels",
                          DType::i8, {matrices, ceildiv(p.n, 16), ceildiv(p.k, 2), 16, 2});
}

Result<Call> bind(const Call& call, Binder& binder) {
  const auto p = params_as<params::QgemmCall>(call);
  kernel::QgemmPanels c(gemm_params(p));
  c.w_batch = p.w_batch == 0 ? Dim(0) : ceildiv(p.n, 16) * ceildiv(p.k, 2) * Dim(32);
  c.w = panels(call, p, binder);
  return Binder::bound(call, c);
}

}  // namespace

void variants_qgemm_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgemm",
                 .name = "portable",
                 .cost = qgemm_panels_cost<Peak::i16, 30>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
