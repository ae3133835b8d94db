#include "ops/common/broadcast.h"

#include "ops/common/strided.h"

namespace qc {

namespace {

Result<int32_t> count_fits(int64_t n, const Loc& loc) {
  if (n <= INT32_MAX) return static_cast<int32_t>(n);
  return error(Code::limit, loc, "{} elements are more than a kernel can count", n);
}

}  // namespace

int64_t BroadcastPlan::size() const {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

bool BroadcastPlan::is_flat(size_t i) const {
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1 && strides[i][d] != stride) return false;
    stride *= dims[d];
  }
  return true;
}

BroadcastPlan plan_broadcast(const Type& out, std::span<const Type* const> operands) {
  const Ints dims = physical_dims(out);
  const size_t rank = dims.size();
  std::vector<Ints> strides(operands.size(), Ints(rank, 0));
  for (size_t k = 0; k < operands.size(); ++k) {
    const Type& type = *operands[k];
    const Ints own = strides_of(type);
    const size_t lead = rank - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      if (type.shape[i] == Dim(1)) continue;
      strides[k][static_cast<size_t>(physical_axis(out, static_cast<int64_t>(i + lead)))] = own[i];
    }
  }
  BroadcastPlan plan;
  plan.strides.resize(operands.size());
  for (size_t d = 0; d < rank; ++d) {
    if (dims[d] == 1) continue;
    bool merge = !plan.dims.empty();
    for (size_t k = 0; merge && k < operands.size(); ++k) {
      merge = plan.strides[k].back() == strides[k][d] * dims[d];
    }
    if (merge)
      plan.dims.back() *= dims[d];
    else
      plan.dims.push_back(dims[d]);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (merge)
        plan.strides[k].back() = strides[k][d];
      else
        plan.strides[k].push_back(strides[k][d]);
    }
  }
  if (plan.dims.empty()) {
    plan.dims = {1};
    for (Ints& s : plan.strides) s = {1};
  }
  return plan;
}

Result<Ok> fill_loops(const BroadcastPlan& plan, const Loc& loc, int32_t& rank, int32_t* dims,
                      std::span<int32_t* const> strides) {
  if (plan.dims.size() > 8) {
    return error(Code::unsupported, loc, "broadcasting needs {} loops, at most 8 are supported",
                 plan.dims.size());
  }
  QC_TRY(count_fits(plan.size(), loc));
  rank = static_cast<int32_t>(plan.dims.size());
  for (size_t d = 0; d < plan.dims.size(); ++d) {
    dims[d] = static_cast<int32_t>(plan.dims[d]);
    for (size_t k = 0; k < strides.size(); ++k) {
      strides[k][d] = static_cast<int32_t>(plan.strides[k][d]);
    }
  }
  return Ok{};
}

Result<int32_t> kernel_count(const Type& type, const Loc& loc) {
  int64_t n = 1;
  for (const Dim& d : type.shape) n *= d.value();
  return count_fits(n, loc);
}

Result<Type> broadcast_type(DType dtype, std::span<const Type* const> operands, const Loc& loc) {
  Type out(dtype, operands[0]->shape);
  for (const Type* type : operands.subspan(1)) {
    QC_ASSIGN(out.shape, broadcast(out.shape, type->shape, loc));
  }
  for (const Type* type : operands) {
    if (type->layout == Layout::channels_last && type->rank() == out.rank())
      out.layout = type->layout;
  }
  return out;
}

std::shared_ptr<const Format> common_format(std::span<const Type* const> operands) {
  const std::shared_ptr<const Format>& first = operands[0]->format;
  if (!first || first->granularity != Granularity::tensor) return nullptr;
  for (const Type* type : operands) {
    if (!(type->quant() == operands[0]->quant())) return nullptr;
  }
  return first;
}

}  // namespace qc
