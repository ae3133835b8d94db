// What variants share that read weights in panels of 16 outputs (qk_gemm_pack_f32).
#pragma once

#include "kernels/gemm/calls.h"
#include "program/variant.h"

namespace qc {

/// Plain matrices of floats: element (k, n) of matrix b at b*batch_step + k*k_step + n*n_step.
using PlainMatrices = qk_gemm_pack_params;

/// Elements of the panels of one matrix.
inline int64_t panel_elements(const PlainMatrices& m) {
  return (int64_t{m.n} + 15) / 16 * m.k * 16;
}

/// Their panels [batch][ceil(n / 16)][k][16].
inline Result<View> float_panels(Binder& binder, const View& w, const PlainMatrices& m) {
  if (panel_elements(m) > INT32_MAX)
    return error(Code::limit, "weights of {} elements when packed are too large",
                 panel_elements(m));
  return binder.packed_by(w, kernel::GemmPack(m), m.k_step == 1 ? "panels.rows" : "panels",
                          DType::f32, {m.batch, (int64_t{m.n} + 15) / 16, m.k, 16});
}

}  // namespace qc
