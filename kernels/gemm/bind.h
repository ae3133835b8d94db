// What variants share that read weights in panels of 16 outputs (qk_gemm_pack_f32).
#pragma once

#include "kernels/gemm/calls.h"
#include "program/variant.h"

namespace qc {

/// Plain matrices of floats: element (k, n) of matrix b at b*batch_step + k*k_step + n*n_step.
using PlainMatrices = params::GemmPackParams;

/// Elements of the panels of one matrix.
inline Dim panel_elements(const PlainMatrices& m) { return ceildiv(m.n, 16) * m.k * Dim(16); }

/// Their panels [batch][ceil(n / 16)][k][16].
inline Result<View> float_panels(Binder& binder, const View& w, const PlainMatrices& m) {
  if (const int64_t most = binder.largest(panel_elements(m)); most > INT32_MAX)
    return error(Code::limit, "weights of {} elements when packed are too large", most);
  return binder.packed_by(w, kernel::GemmPack(m), m.k_step == 1 ? "panels.rows" : "panels",
                          DType::f32, {m.batch, ceildiv(m.n, 16), m.k, 16});
}

}  // namespace qc
