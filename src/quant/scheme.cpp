#include "quant/scheme.h"

#include <cmath>
#include <limits>

#include "ir/relations.h"
#include "support/diag.h"

namespace qc {

CodeRange code_range(DType dtype) {
  const int width = bits(dtype);
  const int64_t span = int64_t{1} << width;
  return is_signed(dtype) ? CodeRange{-span / 2, span / 2 - 1} : CodeRange{0, span - 1};
}

QType tensor_format(DType dtype, float scale, int32_t zero_point, int64_t qmin, int64_t qmax) {
  auto format = std::make_shared<Format>();
  format->qmin = qmin;
  format->qmax = qmax;
  const float scales[] = {scale};
  format->scale = Component::of(Tensor::of<float>(DType::f32, {}, scales));
  if (zero_point != 0) {
    const int32_t zeros[] = {zero_point};
    format->zero_point = Component::of(Tensor::of<int32_t>(DType::i32, {}, zeros));
  }
  return {dtype, std::move(format)};
}

QType tensor_format(DType dtype, float scale, int32_t zero_point) {
  const CodeRange range = code_range(dtype);
  return tensor_format(dtype, scale, zero_point, range.lo, range.hi);
}

namespace {
constexpr int64_t kSignedToUnsigned = 128;
}  // namespace

std::optional<QType> unsigned_codes(const QType& type) {
  if (type.dtype != DType::i8 || !type.format) return std::nullopt;
  const Format& f = *type.format;
  if (f.granularity == Granularity::group || f.scale.kind != Component::Kind::fixed ||
      f.zero_point.kind == Component::Kind::dynamic) {
    return std::nullopt;
  }
  const bool fixed = f.zero_point.kind == Component::Kind::fixed;
  const int64_t count = fixed ? f.zero_point.values.size() : 1;
  Tensor zeros(DType::i32, count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t zero = f.zero_at(i);
    if (zero < f.qmin || zero > f.qmax) return std::nullopt;
    zeros.set_int(i, zero + kSignedToUnsigned);
  }
  auto format = std::make_shared<Format>(f);
  format->qmin += kSignedToUnsigned;
  format->qmax += kSignedToUnsigned;
  format->zero_point = {};
  if (count > 1 || zeros.as_int(0) != 0) format->zero_point = Component::of(std::move(zeros));
  return QType{DType::u8, std::move(format)};
}

int64_t unsigned_limit(int64_t code) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() - kSignedToUnsigned;
  return code == kLeast || code > kMost ? code : code + kSignedToUnsigned;
}

namespace {

/// How many scales a value of this type and format has.
Result<Dim> scale_count(const Type& type, const Format& f, const Loc& loc) {
  if (f.granularity == Granularity::tensor) return Dim(1);
  if (f.axis < 0 || f.axis >= type.rank()) {
    return error(Code::attribute, loc, "format along axis {} of {}", f.axis, str(type.shape));
  }
  const Dim& size = type.shape[static_cast<size_t>(f.axis)];
  if (f.granularity == Granularity::axis) return size;
  if (f.group < 1) return error(Code::attribute, loc, "format with groups of {}", f.group);
  Dims groups = type.shape;
  groups[static_cast<size_t>(f.axis)] = ceildiv(size, f.group);
  return product(groups);
}

Result<Ok> check_numbers(const Format& f, const Loc& loc) {
  const Tensor& scales = f.scale.values;
  for (int64_t i = 0; i < scales.size(); ++i) {
    const double s = scales.as_double(i);
    if (!(s > 0) || !std::isfinite(s)) {
      return error(Code::quant, loc, "scale {} is {}: it must be finite and above 0", i, s);
    }
  }
  const Tensor& zeros = f.zero_point.values;
  for (int64_t i = 0; f.zero_point.kind == Component::Kind::fixed && i < zeros.size(); ++i) {
    const int64_t z = zeros.as_int(i);
    if (z < f.qmin || z > f.qmax) {
      return error(Code::quant, loc, "zero point {} is not among the codes {} to {}", z, f.qmin,
                   f.qmax);
    }
  }
  return Ok{};
}

}  // namespace

Result<Ok> check_format(const Type& type, const Loc& loc) {
  if (!type.format) {
    return error(Code::type, loc, "expected quantized codes, got plain {} values",
                 name(type.dtype));
  }
  const Format& f = *type.format;
  if (!is_integer(type.dtype) || bits(type.dtype) > 32) {
    return error(Code::type, loc, "codes of type {}", name(type.dtype));
  }
  const CodeRange range = code_range(type.dtype);
  if (f.qmin < range.lo || f.qmax > range.hi || f.qmin > f.qmax) {
    return error(Code::quant, loc, "codes {} to {} of type {}", f.qmin, f.qmax, name(type.dtype));
  }
  if (f.is_dynamic()) return Ok{};
  if (f.scale.kind == Component::Kind::none) {
    return error(Code::quant, loc, "a format without a scale");
  }
  QC_ASSIGN(const Dim count, scale_count(type, f, loc));
  const int64_t scales = f.scale.values.size(), zeros = f.zero_point.values.size();
  const bool has_zeros = f.zero_point.kind == Component::Kind::fixed;
  if (differ(scales, count) || (has_zeros && zeros != 1 && differ(zeros, count))) {
    return error(Code::quant, loc, "{} scales and {} zero points for {} groups of {}", scales,
                 has_zeros ? zeros : 0, count.str(), str(type.shape));
  }
  return check_numbers(f, loc);
}

}  // namespace qc
