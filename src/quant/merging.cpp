#include "quant/merging.h"

#include <cstring>

namespace qc {
namespace {

/// One component of all parts, one number for each index or group; a single one is repeated.
Component joined(const std::vector<const Type*>& parts, int64_t axis, Component Format::*which,
                 DType dtype) {
  std::vector<double> values;
  bool fixed = false;
  for (const Type* type : parts) {
    const Format& f = *type->format;
    const Component& c = f.*which;
    const bool here = c.kind == Component::Kind::fixed;
    fixed = fixed || here;
    const int64_t count = f.granularity == Granularity::group
                              ? f.scale.values.size()
                              : type->shape[static_cast<size_t>(axis)].value();
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(here ? c.values.as_double(c.values.size() == 1 ? 0 : i) : 0.0);
    }
  }
  if (!fixed) return {};
  Tensor out(dtype, {static_cast<int64_t>(values.size())});
  for (int64_t i = 0; i < out.size(); ++i) {
    const double v = values[static_cast<size_t>(i)];
    is_float(dtype) ? out.set_double(i, v) : out.set_int(i, static_cast<int64_t>(v));
  }
  return Component::of(std::move(out));
}

}  // namespace

ConstId joined_rows(ConstantPool& pool, const std::vector<ConstId>& parts) {
  Ints shape = pool.shape(parts[0]);
  shape[0] = 0;
  std::string name;
  for (ConstId id : parts) {
    shape[0] += pool.shape(id)[0];
    name += (name.empty() ? "" : "+") + pool.name(id);
  }
  const DType dtype = pool.dtype(parts[0]);
  ConstantPool* const from = &pool;
  return pool.add_lazy(dtype, shape, std::move(name), [=]() -> Result<Tensor> {
    Tensor out(dtype, shape);
    std::byte* at = out.mutable_bytes().data();
    for (ConstId id : parts) {
      QC_ASSIGN(const Tensor part, from->get(id));
      std::memcpy(at, part.bytes().data(), part.bytes().size());
      at += part.bytes().size();
    }
    return out;
  });
}

std::shared_ptr<const Format> joined_format(const std::vector<const Type*>& parts, int64_t axis) {
  auto out = std::make_shared<Format>(*parts[0]->format);
  if (out->granularity == Granularity::tensor) {
    out->granularity = Granularity::axis;
    out->axis = axis;
  }
  out->scale = joined(parts, axis, &Format::scale, parts[0]->format->scale.values.dtype());
  out->zero_point = joined(parts, axis, &Format::zero_point, DType::i32);
  return out;
}

}  // namespace qc
