// Products of codes on GPUs: weights packed for kernels/qtile/mma.cu and dp4a.cu.
#pragma once

#include <fmt/format.h>

#include "kernels/common/codes.h"
#include "kernels/qtile/calls.h"
#include "kernels/qtile/estimate.h"
#include "kernels/qtile/mma_pack.h"
#include "program/estimate.h"

namespace qc {

/// What computes a product: tiles on tensor cores, or threads.
enum class MmaBody { tiles, wide_tiles, threads };

/// Tiles for a product, of a body that has any.
inline TileEstimate tiles_of(const GemmSize& gemm, const Facts& facts, MmaBody body, bool lines) {
  return body == MmaBody::tiles ? mma_estimate(gemm, facts, lines) : wgmma_estimate(gemm, facts);
}

/// Why these kernels do not take a call with such operands; empty where they do.
inline std::string mma_refusal(const Call& call, const Binder& binder, MmaBody body,
                               const Dim& x_type, int64_t channels) {
  if (body == MmaBody::wide_tiles && channels % 16) return "input channels are no multiple of 16";
  if (body != MmaBody::threads &&
      tiles_of({1, 1, 1, false}, binder.target().facts, body, true).shape < 0)
    return "no tile has room on the target";
  if (!(x_type == Dim(QK_I8) || x_type == Dim(QK_U8))) return "codes of x have more than 8 bits";
  if (call.operand("w_zeros").present()) return "weights have zero points";
  return binder.not_constant(call, {"w"});
}

/// Makes a call of qtile_blocks one of so many images of one position and one tap.
inline void as_product(Call& to, const Dim& rows) {
  for (const char* one : {"in", "out", "k", "stride", "dilation"}) {
    for (size_t axis = 0; axis < 3; ++axis) to.params[to.kernel->field(one)->at + axis] = Dim(1);
  }
  set_integer(to, "n", rows);
}

/// Whether terms lie in lines of a window, see qk_qtile_params.
template <class Params>
bool in_lines(const Params& p) {
  return p.ic % 16 != 0 && p.k[2] > 1 && p.dilation[2] == 1;
}

/// Nanoseconds of a product that it takes.
inline double mma_nanoseconds(const GemmSize& gemm, const Facts& facts, MmaBody body, bool lines) {
  // Of dp4a: a thread waits for its words about as long as it multiplies them.
  if (body == MmaBody::threads) return thread_nanoseconds(gemm, facts, 0.5 * facts.i8_gmacs);
  return nanoseconds(static_cast<double>(tiles_of(gemm, facts, body, lines).cycles), facts);
}

/// A call of the kernel for that with what it has in common with `from`.
inline Call mma_call(const Call& from, MmaBody body) {
  if (body == MmaBody::threads) return Binder::like(from, "qtile_dp4a", {"cuda"});
  return Binder::like(from, "qtile_blocks", {body == MmaBody::tiles ? "mma" : "wgmma"});
}

/// Gives a call its shape and its weights.
inline void pack_mma(Call& to, const Call& from, Binder& binder, const qk_mma_weights& w,
                     MmaBody body) {
  auto p = c_params<qk_qtile_params>(to);
  const GemmSize gemm{int64_t{p.n} * p.out[0] * p.out[1] * p.out[2], p.oc, w.taps * p.ic,
                      from.operand("residual").present()};
  const bool lines = in_lines(p);
  const int64_t shape = body == MmaBody::threads
                            ? QK_MMA_SHAPES
                            : tiles_of(gemm, binder.target().facts, body, lines).shape;
  set_integer(to, "lines", lines);
  set_integer(to, "shape", shape);
  set_integer(to, "resident", qk_mma_shape_of(static_cast<int32_t>(shape)).resident);
  p = c_params<qk_qtile_params>(to);
  const std::string name =
      fmt::format("mma.{}.{}.{}.{}.{}.{}.{}.{}.{}", p.shape, p.lines, p.oc, w.taps, p.ic,
                  w.n_stride, w.tap_stride, w.c_stride, w.flip != 0);
  const int64_t bytes = qk_mma_packed_bytes(&p);
  const auto pack = [=](const std::vector<Tensor>& t) -> Result<Tensor> {
    Tensor out(DType::i8, {bytes});
    qk_mma_pack(&p, &w, reinterpret_cast<const uint8_t*>(t[0].bytes().data()),
                reinterpret_cast<uint8_t*>(out.mutable_bytes().data()));
    return out;
  };
  set_view(to, "w", binder.packed(from.operand("w"), {}, name, DType::i8, {bytes}, pack));
}

}  // namespace qc
