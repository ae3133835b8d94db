#include "ops/activation/activation.h"

#include "ir/capability.h"
#include "kernels/activation/calls.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

/// The functions of the kernel.
constexpr struct Activation {
  std::string_view name;
  float (*compute)(float);
} kActivations[] = {
    {"silu", qn_silu_f32},           {"gelu", qn_gelu_f32},
    {"gelu_tanh", qn_gelu_tanh_f32}, {"gelu_quick", qn_gelu_quick_f32},
    {"sigmoid", qn_sigmoid_f32},     {"tanh", qn_tanh_f32},
    {"relu", qn_relu_f32},
};

const Activation* find_activation(std::string_view name) {
  for (const Activation& a : kActivations) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace

const OpInfo ActivationQuantize::kStatic = {
    .name = "activation_quantize",
    .min_inputs = 1,
    .max_inputs = 2,
    .traits = kElementwise | kAnyLayout | kQuantizedInFloat,
    .summary = "an activation, maybe times a factor (SwiGLU), as codes",
};
const OpInfo ActivationQuantize::kDynamic = {
    .name = "activation_quantize_dynamic",
    .min_inputs = 1,
    .max_inputs = 2,
    .outputs = 3,
    .traits = kQuantizedInFloat,
    .summary =
        "an activation, maybe times a factor (SwiGLU), as codes with scales found at run time",
};

std::string_view ActivationQuantize::computed_by(const Node& node) {
  const auto* clamp = dynamic_cast<const IsClamp*>(&node);
  if (clamp && clamp->limits().lo == 0 && clamp->limits().hi == kInf) return "relu";
  const Activation* found = find_activation(node.op());
  return found ? found->name : std::string_view();
}

Result<Node*> ActivationQuantize::fused(const Node& node, const QuantizeEpilogue& epilogue,
                                        const InsertPoint& point, std::string& reason) {
  const std::string_view fn = computed_by(node);
  if (fn.empty() || epilogue.floats || node.input_type(0).dtype != DType::f32) {
    reason = epilogue.floats ? kReadAsFloats : "it has no kernel that writes codes";
    return static_cast<Node*>(nullptr);
  }
  auto made = std::make_unique<ActivationQuantize>(epilogue.dynamic);
  made->fn = fn;
  made->epilogue = epilogue;
  return point.graph.add(std::move(made), {node.input(0)}, point.loc, point.before);
}

void ActivationQuantize::attrs(AttrVisitor& v) {
  v("fn", fn);
  epilogue.attrs(v);
}

Result<Ok> ActivationQuantize::pad(PaddedNode& c) {
  if (!epilogue.dynamic) return c.broadcast();
  if (epilogue.per_token) return c.rows(c.resolved(-1));
  if (c.operands().size() > 1 && c.padding(1) != c.padding(0))
    return c.refuse("its operands are padded differently");
  QC_TRY(c.repeat_edges());
  c.set_result(0, c.padding(0));
  return Ok{};
}

Result<std::vector<Type>> ActivationQuantize::infer() const {
  const Type& x = input_type(0);
  if (epilogue.floats) return error(Code::attribute, loc(), "{} keeps no floats", op());
  if (!find_activation(fn))
    return error(Code::attribute, loc(), "'{}' is no activation of {}", fn, op());
  if (input(1) && (input_type(1).dtype != x.dtype || input_type(1).shape != x.shape)) {
    return error(Code::shape, loc(), "a factor {} of {}", str(input_type(1)), str(x));
  }
  return epilogue.types(x, loc());
}

Result<Ok> ActivationQuantize::eval(EvalContext& c) const {
  const auto f = find_activation(fn)->compute;
  Tensor y(DType::f32, c.in(0).shape());
  const float* x = c.in(0).data<float>();
  const float* factor = c.has(1) ? c.in(1).data<float>() : nullptr;
  for (int64_t i = 0; i < y.size(); ++i) {
    y.mutable_data<float>()[i] = factor ? qn_mulf(f(x[i]), factor[i]) : f(x[i]);
  }
  eval_epilogue(epilogue, y, c, output()->type());
  return Ok{};
}

Result<Ok> ActivationQuantize::lower(Lowering& l) const {
  if (l.has(1) && l.in_type(1).layout != l.in_type(0).layout) {
    return error(Code::unsupported, loc(), "a constant factor in another layout");
  }
  const Dims dims = l.out_dims();
  kernel::ActivationQuantize c;
  c.n = dims.empty() ? Dim(1) : dims.back();
  c.rows = dims.empty() ? Dim(1) : product(Dims(dims.begin(), dims.end() - 1));
  const auto stride_of = [&](size_t i) {
    const bool rows = input(i) && dims.size() > 1;
    return rows && strided_alias(input(i)) ? strides_in(*this, i)[dims.size() - 2] : c.n;
  };
  c.x_stride = stride_of(0);
  c.factor_stride = stride_of(1);
  c.op = fn;
  c.x = l.in(0);
  c.factor = l.optional(1);
  QC_TRY(lower_epilogue(l, epilogue, c));
  l.emit(c);
  return Ok{};
}

void register_activation(Registration& r) {
  r.op(&ActivationQuantize::kStatic, [] { return std::make_unique<ActivationQuantize>(false); });
  r.op(&ActivationQuantize::kDynamic, [] { return std::make_unique<ActivationQuantize>(true); });
}

}  // namespace qc
