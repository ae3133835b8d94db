// Blobs of constant weights for vector kernels (kernels/qtile/pack.h), made when weights are
// written.
#pragma once

#include <fmt/format.h>

#include "kernels/qtile/accepts.h"
#include "kernels/qtile/pack.h"
#include "program/variant.h"

namespace qc {

/// Why what is packed when weights are written cannot be; empty where it can.
inline std::string not_constant(const Call& call, const Binder& binder) {
  return binder.not_constant(call, {"w", "bias", "multipliers", "float_bias"});
}

/// Why kernels with packed weights do not take a call; empty where they do.
template <class Params>
std::string packed_refusal(const Call& call, const Params& p, int32_t per_row) {
  const auto has = [&](const char* name) { return call.operand(name).present() ? 1 : 0; };
  const int w_zeros = has("w_zeros") && !call.proved("one_w_zero") ? 1 : 0;
  const qk_packed_call c{.x_type = p.x_type,
                         .x_zero = p.x_zero,
                         .has_float_bias = has("float_bias"),
                         .has_w_zeros = w_zeros,
                         .has_x_scales = has("x_scales"),
                         .has_x_zeros = has("x_zeros"),
                         .per_row = per_row,
                         .has_residual = has("residual")};
  return qk_packed_accepts(&c, &p.epilogue)
             ? ""
             : "codes, zero points or the epilogue are not those it takes";
}

/// What tells the packings of the same weights for a machine apart.
inline std::string packing_name(const std::string& machine, const qk_pack_params& p) {
  return fmt::format("packed.{}.{}.{}.{}.{}x{}x{}.{}.{}.{}.{}.{}", machine, p.groups, p.outputs,
                     p.inputs, p.taps[0], p.taps[1], p.taps[2], p.line, p.n_stride, p.tap_stride,
                     p.k_stride, p.flip);
}

/// A blob of constant weights with bias and multipliers; `purpose` as in Binder::packed.
inline View packed_blob(const Call& call, Binder& binder, std::string purpose, int64_t bytes,
                        std::function<void(const std::vector<Tensor>&, std::byte*)> pack) {
  const std::vector<int64_t> shape{bytes};
  std::vector<View> more{call.operand("bias"), call.operand("multipliers"),
                         call.operand("float_bias")};
  return binder.packed(call.operand("w"), std::move(more), std::move(purpose), DType::u8, shape,
                       [shape, pack](const std::vector<Tensor>& from) -> Result<Tensor> {
                         Tensor out(DType::u8, shape);
                         pack(from, out.mutable_bytes().data());
                         return out;
                       });
}

/// The elements of a tensor, null where it is absent.
template <class T>
const T* elements_or_null(const Tensor& t) {
  return t.size() == 0 ? nullptr : t.data<T>();
}

}  // namespace qc
