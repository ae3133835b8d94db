#include "quant/quantize_epilogue.h"

#include <algorithm>

#include "quant/arithmetic.h"
#include "quant/scheme.h"

namespace qc {

void QuantizeEpilogue::attrs(AttrVisitor& v) {
  v("to", to);
  if (dynamic) {
    v("symmetric", symmetric, false);
    v("per_token", per_token, false);
  } else {
    v("arithmetic", arithmetic, std::string("exact"));
  }
  v("floats", floats, false);
}

namespace {

Result<std::vector<Type>> static_types(const QuantizeEpilogue& e, const Type& x, const Loc& loc) {
  if (auto parsed = parse_arithmetic(e.arithmetic); !parsed.ok()) {
    return error(Code::attribute, loc, "{}", parsed.diag().text);
  }
  Type y(e.to, x.shape);
  y.layout = x.layout;
  QC_TRY(check_format(y, loc));
  if (e.to.format->is_dynamic()) {
    return error(Code::quant, loc, "quantize needs static scales: use quantize_dynamic");
  }
  if (bits(e.to.dtype) > 16) return error(Code::type, loc, "codes of type {}", name(e.to.dtype));
  return std::vector<Type>{std::move(y)};
}

Result<std::vector<Type>> code_types(const QuantizeEpilogue& e, const Type& x, const Loc& loc) {
  if (x.dtype != DType::f32 || x.format) {
    return error(Code::type, loc, "expected f32 values, got {}", str(x));
  }
  if (!e.dynamic) return static_types(e, x, loc);
  if (e.to.format || !is_integer(e.to.dtype) || bits(e.to.dtype) < 8 || bits(e.to.dtype) > 16) {
    return error(Code::type, loc, "codes of type {}", str(e.to));
  }
  if (e.per_token && x.rank() < 1) return error(Code::shape, loc, "a single value has no rows");
  auto format = std::make_shared<Format>();
  const CodeRange range = code_range(e.to.dtype);
  format->qmin = e.symmetric ? -range.hi : range.lo;
  format->qmax = range.hi;
  format->scale = Component::at_run_time();
  format->zero_point = Component::at_run_time();
  Dims scales;
  if (e.per_token) {
    format->granularity = Granularity::group;
    format->axis = x.rank() - 1;
    if (!x.shape.back().is_static()) {
      return error(Code::dim, loc, "rows of unknown size {}", x.shape.back().str());
    }
    format->group = std::max<int64_t>(x.shape.back().value(), 1);
    scales = x.shape;
    scales.back() = Dim(1);
  }
  if (e.symmetric && !is_signed(e.to.dtype)) {
    return error(Code::quant, loc, "symmetric codes need a signed type, got {}", name(e.to.dtype));
  }
  return std::vector<Type>{Type(QType{e.to.dtype, std::move(format)}, x.shape),
                           Type(DType::f32, scales), Type(DType::i32, scales)};
}

}  // namespace

Result<std::vector<Type>> QuantizeEpilogue::types(const Type& x, const Loc& loc) const {
  QC_ASSIGN(std::vector<Type> out, code_types(*this, x, loc));
  if (floats) out.push_back(x);
  return out;
}

}  // namespace qc
