#include "ops/common/broadcast.h"

#include "ops/common/strided.h"

namespace qc {

bool BroadcastPlan::is_flat(size_t i) const {
  Dim stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (!(dims[d] == 1) && !(strides[i][d] == stride)) return false;
    stride = stride * dims[d];
  }
  return true;
}

BroadcastPlan plan_broadcast(const Type& out, std::span<const Type* const> operands,
                             std::span<const Dims> given) {
  const Dims dims = physical_dims(out);
  const size_t rank = dims.size();
  std::vector<Dims> strides(operands.size(), Dims(rank));
  for (size_t k = 0; k < operands.size(); ++k) {
    const Type& type = *operands[k];
    const Dims own = given.empty() ? strides_of(type) : given[k];
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
      plan.dims.back() = plan.dims.back() * dims[d];
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
    for (Dims& s : plan.strides) s = {1};
  }
  return plan;
}

Result<BroadcastPlan> plan_broadcast(const Lowering& l, std::span<const Type* const> operands,
                                     std::span<const Dims> strides) {
  const Dims& shape = l.out_type().shape;
  for (const Type* type : operands) {
    for (size_t i = 0; i < type->shape.size(); ++i) {
      const Dim &own = type->shape[i], &all = shape[shape.size() - type->shape.size() + i];
      if (own == 1 || own == all) continue;
      return error(Code::unsupported, l.loc(),
                   "an operand of size {} stands beside a result of size {}, and it depends on the "
                   "sizes whether it is repeated: give numbers with --dim",
                   own.str(), all.str());
    }
  }
  return plan_broadcast(l.out_type(), operands, strides);
}

Result<Ok> fill_loops(const Lowering& l, const BroadcastPlan& plan, Dim& rank, Dim* dims,
                      std::span<Dim* const> strides) {
  if (plan.dims.size() > 8) {
    return error(Code::unsupported, l.loc(), "broadcasting needs {} loops, at most 8 are supported",
                 plan.dims.size());
  }
  QC_TRY(l.param(product(plan.dims)));
  rank = static_cast<int64_t>(plan.dims.size());
  std::copy(plan.dims.begin(), plan.dims.end(), dims);
  for (size_t k = 0; k < strides.size(); ++k)
    std::copy(plan.strides[k].begin(), plan.strides[k].end(), strides[k]);
  return Ok{};
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
