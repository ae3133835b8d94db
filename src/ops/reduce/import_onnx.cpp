#include "ops/common/importing.h"
#include "ops/reduce/reduce.h"

namespace qc {
namespace {

/// Axes as an attribute, or as operand 1 from version `since` on.
Result<Values> reduce_since(const Import& m, const char* op, int since) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const bool keepdims, m.b("keepdims", true));
  QC_ASSIGN(const bool noop, m.b("noop_with_empty_axes", false));
  Ints axes;
  if (m.version() < since) {
    QC_ASSIGN(axes, m.ints("axes", {}));
  } else if (m.has(1)) {
    QC_ASSIGN(axes, m.known_static(m.in(1), "axes"));
  }
  const std::string_view name(op);
  if (axes.empty() && noop && m.version() >= since) {
    // Nothing is reduced, but the function of a single element still applies.
    if (name == "reduce_l1" || name == "reduce_l2") return one(m.emit("abs", {x}));
    if (name == "reduce_sum_square") return one(m.emit("square", {x}));
    if (name != "reduce_log_sum") return Values{x};
    QC_ASSIGN(Value * wide, is_float(x->dtype()) ? Result<Value*>(x) : m.cast(x, DType::f64));
    QC_ASSIGN(wide, m.emit("log", {wide}));
    return one(m.cast(wide, x->dtype()));
  }
  const DType type = x->dtype();
  if (type == DType::boolean) {
    if (name == "reduce_max") op = "reduce_any";
    if (name == "reduce_min") op = "reduce_all";
  }
  const bool through_float = is_integer(type) && (name == "reduce_l2" || name == "reduce_log_sum" ||
                                                  name == "reduce_log_sum_exp");
  if (through_float) {
    QC_ASSIGN(x, m.cast(x, DType::f64));
  }
  QC_ASSIGN(Value * y, m.emit(op, {x}, {{"axes", axes}, {"keepdims", keepdims}}));
  return one(m.cast(y, type));
}

template <OpName kName, int kSince>
Result<Values> onnx_reduce(Import& m) {
  return reduce_since(m, kName.text, kSince);
}

constexpr ImportRow kOnnxRows[] = {
    {"", "ReduceSum", onnx_reduce<"reduce_sum", 13>},
    {"", "ReduceMean", onnx_reduce<"reduce_mean", 18>},
    {"", "ReduceMax", onnx_reduce<"reduce_max", 18>},
    {"", "ReduceMin", onnx_reduce<"reduce_min", 18>},
    {"", "ReduceProd", onnx_reduce<"reduce_prod", 18>},
    {"", "ReduceL1", onnx_reduce<"reduce_l1", 18>},
    {"", "ReduceL2", onnx_reduce<"reduce_l2", 18>},
    {"", "ReduceSumSquare", onnx_reduce<"reduce_sum_square", 18>},
    {"", "ReduceLogSum", onnx_reduce<"reduce_log_sum", 18>},
    {"", "ReduceLogSumExp", onnx_reduce<"reduce_log_sum_exp", 18>},
};

}  // namespace

std::span<const ImportRow> reduce_onnx_rows() { return kOnnxRows; }

}  // namespace qc
