#include "ops/common/narrow.h"

namespace qc {
namespace {

/// Calls `visit` with every tensor operand of a node, which it may replace.
template <class Node, class F>
Result<Ok> for_each_operand(Node& node, F&& visit) {
  for (auto& [name, arg] : node.args) {
    if (auto* value = std::get_if<Value*>(&arg)) QC_TRY(visit(*value));
    if (auto* list = std::get_if<Values>(&arg)) {
      for (auto& value : *list) QC_TRY(visit(value));
    }
  }
  return Ok{};
}

}  // namespace

std::optional<DType> narrow_type(const Import& m) {
  std::optional<DType> of_tensors, of_scalars;
  (void)for_each_operand(m.node(), [&](const Value* v) -> Result<Ok> {
    if (!v || !is_float(v->dtype())) return Ok{};
    auto& type = v->rank() > 0 ? of_tensors : of_scalars;
    type = type ? promote(*type, v->dtype()) : v->dtype();
    return Ok{};
  });
  const auto type = of_tensors ? of_tensors : of_scalars;
  return type && is_narrow(*type) ? type : std::nullopt;
}

Result<Values> run_in_f32(const Import& m, DType narrow, ImportFn row) {
  ForeignNode wide = m.node();
  QC_TRY(for_each_operand(wide, [&](Value*& v) -> Result<Ok> {
    if (!v || !is_float(v->dtype())) return Ok{};
    QC_ASSIGN(v, m.cast(v, DType::f32));
    return Ok{};
  }));
  Import inner(m.graph(), wide);
  QC_ASSIGN(Values out, row(inner));
  for (Value*& v : out) {
    if (!v || v->dtype() != DType::f32) continue;
    QC_ASSIGN(v, m.cast(v, narrow));
  }
  return out;
}

Result<bool> is_wide_number(const Import& m, std::string_view name, DType narrow, bool any) {
  const Arg* arg = m.find(name);
  if (!arg) return false;
  if (auto* v = std::get_if<Value*>(arg)) {
    if ((*v)->rank() != 0 || (*v)->dtype() == narrow) return false;
    if (any || !(*v)->is_constant()) return true;
  }
  if (any) return true;
  QC_ASSIGN(Value * v, m.tensor(name));
  if (!v->is_constant()) return true;
  QC_ASSIGN(const Tensor number, m.constant(v, name));
  Tensor rounded(narrow, {});
  rounded.set_double(0, number.as_double(0));
  return rounded.as_double(0) != number.as_double(0);
}

}  // namespace qc
