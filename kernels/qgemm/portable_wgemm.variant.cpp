// wgemm with codes, scales and zero points in panels of 16 outputs (kernels/qgemm/portable.c).
#include <fmt/format.h>

#include "kernels/qgemm/calls.h"
#include "kernels/qgemm/qgemm.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  return binder.not_constant(call, {"w", "scales", "w_zeros"});
}

/// How codes of a type lie in panels: less `shift`, as i8, or as 0 to 15, two in a byte.
struct Storage {
  bool nibbles;
  int32_t shift;

  explicit Storage(DType type) : nibbles(bits(type) <= 4) {
    if (nibbles) {
      shift = is_signed(type) ? -(1 << (bits(type) - 1)) : 0;
    } else {
      shift = is_signed(type) ? 0 : 128;
    }
  }
};

/// Codes [n, k] as [ceil(n / 16)][k][16], or [8] with two in a byte.
View code_panels(const Call& call, Binder& binder, const Storage& storage) {
  const View& w = call.operand("w");
  const int64_t n = call.integer("n"), k = call.integer("k");
  const std::vector<int64_t> shape{(n + 15) / 16, k, storage.nibbles ? 8 : 16};
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(DType::u8, shape);
    uint8_t* y = out.mutable_data<uint8_t>();
    for (int64_t i = 0; i < from[0].size(); ++i) {
      const int64_t lane = i / k % 16;
      const int64_t code = from[0].as_int(i) - storage.shift;
      uint8_t* row = y + (i / k / 16 * k + i % k) * shape[2];
      if (storage.nibbles) {
        row[lane % 8] = static_cast<uint8_t>(row[lane % 8] | (code << (lane < 8 ? 0 : 4)));
      } else {
        row[lane] = static_cast<uint8_t>(code);
      }
    }
    return out;
  };
  return binder.packed(w, {}, storage.nibbles ? "nibbles" : "panels8", DType::u8, shape, pack);
}

/// Scales or zero points [n][groups], the latter less `shift`, as [ceil(n / 16)][groups][16]; what
/// is beyond n is 0.
template <class T>
View scale_panels(const Call& call, Binder& binder, const View& scales, T shift) {
  if (!scales.present()) return {};
  const int64_t n = call.integer("n"), group = call.integer("group");
  const int64_t groups = (call.integer("k") + group - 1) / group;
  const std::vector<int64_t> shape{(n + 15) / 16, groups, 16};
  const DType type = scales.dtype;
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(type, shape);
    T* y = out.mutable_data<T>();
    for (int64_t i = 0; i < n * groups; ++i) {
      const int64_t o = i / groups;
      y[(o / 16 * groups + i % groups) * 16 + o % 16] = from[0].data<T>()[i] - shift;
    }
    return out;
  };
  return binder.packed(scales, {}, fmt::format("panels.{}.{}", groups, shift), type, shape, pack);
}

Result<Call> bind(const Call& call, Binder& binder) {
  const Storage storage(call.operand("w").dtype);
  Call c = Binder::like(call, "wgemm_panels");
  set_view(c, "w", code_panels(call, binder, storage));
  set_view(c, "scales", scale_panels<float>(call, binder, call.operand("scales"), 0));
  set_view(c, "w_zeros",
           scale_panels<int32_t>(call, binder, call.operand("w_zeros"), storage.shift));
  const int64_t k = call.integer("k");
  set_view(c, "rows", binder.scratch(DType::f32, {QK_W_ROWS(k)}, "decoded weights"));
  set_integer(c, "nibbles", storage.nibbles ? 1 : 0);
  set_integer(c, "zero", call.integer("zero") - storage.shift);
  return c;
}

}  // namespace

void variants_qgemm_portable_wgemm(std::vector<Variant>& out) {
  out.push_back({.kernel = "wgemm",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
