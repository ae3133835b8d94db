#include "ops/quantize/scales.h"

#include "kernels/quantize/calls.h"
#include "ops/common/axis.h"

namespace qc {

std::vector<float> divisors(const Format& format, bool reciprocal) {
  const Tensor& s = format.scale.values;
  std::vector<float> out(static_cast<size_t>(s.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    if (!reciprocal) {
      out[i] = static_cast<float>(s.as_double(at));
    } else if (s.dtype() == DType::f64) {
      out[i] = static_cast<float>(1.0 / s.as_double(at));
    } else {
      out[i] = 1.0f / s.data<float>()[i];
    }
  }
  return out;
}

std::vector<int32_t> zero_points(const Format& format) {
  if (format.zero_point.kind != Component::Kind::fixed) return {};
  const Tensor& z = format.zero_point.values;
  std::vector<int32_t> out;
  bool any = false;
  for (int64_t i = 0; i < z.size(); ++i) {
    out.push_back(static_cast<int32_t>(z.as_int(i)));
    any = any || out.back() != 0;
  }
  return any ? out : std::vector<int32_t>{};
}

std::optional<Dims> carried_shape(const Type& type) {
  const Format& f = *type.format;
  if (f.granularity == Granularity::tensor) return Dims{};
  if (f.axis < 0 || f.axis >= type.rank()) return std::nullopt;
  const Dim& size = type.shape[static_cast<size_t>(f.axis)];
  if (f.granularity == Granularity::axis) return Dims{size};
  if (!size.is_static() || f.group < 1) return std::nullopt;
  Dims out = type.shape;
  out[static_cast<size_t>(f.axis)] = Dim((size.value() + f.group - 1) / f.group);
  return out;
}

Result<GroupLoops> group_loops(const Lowering& l, const Type& type) {
  QC_TRY(l.param(product(type.shape)));
  const Format& f = *type.format;
  GroupLoops p;
  const Dims dims = physical_dims(type);
  if (f.granularity == Granularity::tensor) {
    p.inner = product(dims);
    return p;
  }
  if (f.granularity == Granularity::group && type.layout != Layout::row_major) {
    return error(Code::unsupported, l.loc(), "groups of a channels-last value");
  }
  const AxisDims view(dims, physical_axis(type, f.axis));
  p.outer = view.outer;
  p.axis = view.n;
  p.inner = view.inner;
  if (f.granularity == Granularity::axis) {
    p.s_axis = 1;
    return p;
  }
  p.group = f.group;
  p.s_inner = 1;
  p.s_axis = p.inner;
  p.s_outer = ceildiv(p.axis, p.group) * p.inner;
  return p;
}

std::string code_suffix(DType dtype) {
  if (bits(dtype) < 8) return is_signed(dtype) ? "i8" : "u8";
  return std::string(name(dtype));
}

View float_constant(Lowering& l, const std::vector<float>& values) {
  return l.constant(Tensor::of<float>(DType::f32, {static_cast<int64_t>(values.size())}, values),
                    "scales");
}

View zero_constant(Lowering& l, const Type& type) {
  std::vector<int32_t> zeros = zero_points(*type.format);
  if (zeros.empty()) return View{};
  zeros.resize(static_cast<size_t>(type.format->scale.values.size()), zeros[0]);
  return l.constant(Tensor::of<int32_t>(DType::i32, {static_cast<int64_t>(zeros.size())}, zeros),
                    "zero points");
}

void lower_lookup(Lowering& l, const Dim& n, View table) {
  const bool wide = bits(l.out_type().dtype) > 8;
  CallInfo info;
  if (!wide) info.in_place = {{0, 0}};
  kernel::Lookup c;
  c.n = n;
  c.bits = wide ? "16" : "8";
  c.x = l.in(0);
  c.table = table;
  c.y = l.out();
  l.emit(c, std::move(info));
}

}  // namespace qc
