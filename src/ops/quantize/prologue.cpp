#include "ops/quantize/prologue.h"

#include "ir/capability.h"
#include "kernels/numerics/quant.h"
#include "ops/quantize/scales.h"
#include "quant/quantizable.h"

namespace qc {

Value* codes_behind(Value* x) {
  Node* node = x->def();
  if (!capability<IsDequantize>(node) || x->dtype() != DType::f32) return nullptr;
  for (size_t i = 1; i < node->input_count(); ++i) {
    if (node->input(i)) return nullptr;
  }
  const Type& codes = node->input_type(0);
  const bool plain = codes.format && !codes.format->is_dynamic() && bits(codes.dtype) >= 8 &&
                     bits(codes.dtype) <= 16 && codes.layout == x->type().layout &&
                     codes.shape == x->shape();
  return plain ? node->input(0) : nullptr;
}

Tensor decoded(const Tensor& x, const Type& type) {
  if (!type.format) return x;
  const std::vector<float> scales = divisors(*type.format, false);
  const std::vector<int32_t> zeros = zero_points(*type.format);
  Tensor y(DType::f32, x.shape());
  float* to = y.mutable_data<float>();
  Groups(Type(type.quant(), to_dims(x.shape()))).for_each([&](int64_t i, int64_t g) {
    const size_t at = static_cast<size_t>(g);
    const int32_t zero = zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : at];
    to[i] = qn_dequantize(static_cast<int32_t>(x.as_int(i)), scales[at], zero);
  });
  return y;
}

Result<Type> decoded_type(const Type& type, const Loc& loc) {
  if (!type.format) {
    if (type.dtype != DType::f32) return error(Code::type, loc, "values of {}", name(type.dtype));
    return type;
  }
  QC_TRY(check_format(type, loc));
  if (type.format->is_dynamic() || bits(type.dtype) < 8 || bits(type.dtype) > 16) {
    return error(Code::quant, loc, "codes {}: static scales are expected", str(type));
  }
  Type out(DType::f32, type.shape);
  out.layout = type.layout;
  return out;
}

}  // namespace qc
