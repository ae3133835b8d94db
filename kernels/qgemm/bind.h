// qgemm on the host: what its variants share.
#pragma once

#include "kernels/qgemm/estimate.h"
#include "kernels/qtile/packed_bind.h"

namespace qc {

/// Everything but the strides of the weights.
inline params::QgemmParams gemm_params(const params::QgemmCall& p) {
  params::QgemmParams out;
  out.batch = p.batch;
  out.m = p.m;
  out.n = p.n;
  out.k = p.k;
  out.x_batch = p.x_batch;
  out.y_batch = p.y_batch;
  out.per_row = p.per_row;
  out.x_type = p.x_type;
  out.x_zero = p.x_zero;
  out.epilogue = p.epilogue;
  return out;
}

/// Bytes from one blob of packed weights [n, k] to the next; qk_packed_size for sizes that may be
/// free.
inline Dim packed_stride(qk_panels panels_of, const Dim& n, const Dim& k) {
  const auto rounded = [](const Dim& size, int64_t to) { return ceildiv(size, to) * Dim(to); };
  const Dim outputs = rounded(n, panels_of.lanes);
  const Dim weights = rounded(Dim(QK_PACKED_HEAD) + Dim(16) * outputs, 64);
  return rounded(weights + outputs * rounded(k, panels_of.unit), 64);
}

/// Whether codes of x are i8 that `with_unsigned_x` can turn.
inline bool has_signed_x(const Call& call) {
  return call.integer("x_type") == QK_I8 && call.operand("x").strides.empty();
}

/// The call with codes u8 instead of i8, made by a call before it: the machines multiply codes u8.
inline Call with_unsigned_x(Call call, Binder& binder) {
  if (!has_signed_x(call)) return call;
  kernel::UnsignedCodes c;
  c.x = call.operand("x");
  c.n = product(c.x.dims);
  c.y = binder.scratch(DType::u8, c.x.dims, "unsigned codes");
  if (const View& zeros = call.operand("x_zeros"); zeros.present()) {
    c.zeros = zeros;
    c.rows = product(zeros.dims);
    c.y_zeros = binder.scratch(DType::i32, zeros.dims, "zero points of unsigned codes");
  }
  binder.before(c);
  set_view(call, "x", c.y);
  if (c.y_zeros.present()) set_view(call, "x_zeros", c.y_zeros);
  set_integer(call, "x_type", QK_U8);
  set_integer(call, "x_zero", call.integer("x_zero") + 128);
  return call;
}

/// qgemm with weights packed for a machine: with the weights where all is constant, else by a call
/// before it.
inline Result<Call> bind_packed_gemm(const Call& given, Binder& binder, qk_panels panels_of,
                                     const std::string& machine) {
  const Call call = with_unsigned_x(given, binder);
  const auto p = params_as<params::QgemmCall>(call);
  const Dim each = packed_stride(panels_of, p.n, p.k), matrices = p.w_batch == 0 ? Dim(1) : p.batch;
  kernel::QgemmPacked c(gemm_params(p));
  c.machine = machine;
  c.w_batch = p.w_batch == 0 ? Dim(0) : each;
  if (not_constant(call, binder).empty()) {
    const auto known = c_params<qk_qgemm_call>(call);
    const qk_pack_params pack{1,         known.n, known.k,   {1, 1, 1}, 0,
                              known.w_n, 0,       known.w_k, known.flip};
    const int64_t count = matrices.value(), bytes = each.value();
    QC_CHECK((qk_packed_size(panels_of, &pack) + 63) / 64 * 64 == bytes, "blobs have another size");
    c.w = packed_blob(call, binder, packing_name(machine, pack), count * bytes,
                      [=](const std::vector<Tensor>& from, std::byte* to) {
                        for (int64_t i = 0; i < count; ++i) {
                          qk_pack(panels_of, &pack, from[0].bytes().data() + i * known.w_batch,
                                  elements_or_null<int32_t>(from[1]),
                                  elements_or_null<float>(from[2]),
                                  elements_or_null<float>(from[3]), to + i * bytes);
                        }
                      });
    return Binder::bound(call, c);
  }
  kernel::QgemmPrepack prepack;
  prepack.batch = matrices;
  prepack.k = p.k;
  prepack.n = p.n;
  prepack.w_batch = p.w_batch;
  prepack.w_k = p.w_k;
  prepack.w_n = p.w_n;
  prepack.flip = p.flip;
  prepack.each = each;
  prepack.machine = machine;
  prepack.w = call.operand("w");
  prepack.bias = call.operand("bias");
  prepack.multipliers = call.operand("multipliers");
  prepack.float_bias = call.operand("float_bias");
  prepack.packed = c.w = binder.scratch(DType::u8, {matrices * each}, "packed operand");
  binder.before(prepack);
  return Binder::bound(call, c);
}

inline std::string packed_gemm_refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QgemmCall>(call);
  constexpr int64_t kMost = INT32_MAX / 2;
  if (binder.largest(packed_stride(QK_PANELS_AVX512VNNI, p.n, p.k)) > kMost)
    return "a matrix is too large";
  if (call.operand("y_zeros").present() && call.operand("residual").present())
    return "results have a zero point each, and a residual is added";
  auto known = c_params<qk_qgemm_call>(call);
  if (has_signed_x(call)) {
    known.x_type = QK_U8;
    known.x_zero += 128;
  }
  return packed_refusal(call, known, known.per_row);
}

}  // namespace qc
