// Norms that write codes: a quantize that follows, and an addition before, become part of them.
#include "interp/eval.h"
#include "kernels/norm/calls.h"
#include "kernels/numerics/code_types.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/codes.h"
#include "ops/norm/norm.h"
#include "ops/quantize/prologue.h"
#include "program/lowering.h"
#include "quant/scores.h"

namespace qc {

const OpInfo& norm_quantize_info(NormKind kind, bool dynamic) {
  const auto info = [](const char* name, const char* summary) {
    return OpInfo{.name = name,
                  .max_inputs = 4,
                  .outputs = -1,
                  .traits = kQuantizedInFloat,
                  .summary = summary};
  };
  static const OpInfo kInfos[3][2] = {
      {info("layer_norm_quantize", "layer_norm, of a sum or of a value, as codes"),
       info("layer_norm_quantize_dynamic",
            "layer_norm, of a sum or of a value, as codes with scales found at run time")},
      {info("rms_norm_quantize", "rms_norm, of a sum or of a value, as codes"),
       info("rms_norm_quantize_dynamic",
            "rms_norm, of a sum or of a value, as codes with scales found at run time")},
      {info("group_norm_quantize", "group_norm, of a sum or of a value, as codes"),
       info("group_norm_quantize_dynamic",
            "group_norm, of a sum or of a value, as codes with scales found at run time")},
  };
  return kInfos[static_cast<size_t>(kind)][dynamic ? 1 : 0];
}

const OpInfo& NormQuantize::info() const { return norm_quantize_info(rows.kind, epilogue.dynamic); }

void NormQuantize::attrs(AttrVisitor& v) {
  rows.attrs(v);
  epilogue.attrs(v);
  v("sums", sums, false);
}

namespace {

/// Whether a row has whole tokens, so that their ranges are found row by row.
bool has_whole_tokens(const NormRows& rows, const Dims& x) {
  return rows.kind != NormKind::group || x.size() > 2 || rows.groups == 1;
}

}  // namespace

Result<std::vector<Type>> NormQuantize::infer() const {
  QC_ASSIGN(const Type x, decoded_type(input_type(0), loc()));
  QC_TRY(rows.infer(*this, x));
  if (const Format* f = input_type(0).format.get();
      f && (f->granularity != Granularity::tensor || input(3))) {
    return error(Code::quant, loc(), "{} of {}: codes have one scale and no residual", op(),
                 str(input_type(0)));
  }
  if (input(3) && !(input_type(3) == x)) {
    return error(Code::shape, loc(), "a residual {} of {}", str(input_type(3)), str(x));
  }
  if (sums && !input(3)) return error(Code::graph, loc(), "sums of {} without a residual", op());
  if (epilogue.dynamic && epilogue.per_token && !has_whole_tokens(rows, x.shape)) {
    return error(Code::shape, loc(), "rows of {} in groups of their elements", str(x));
  }
  QC_ASSIGN(std::vector<Type> types, epilogue.types(x, loc()));
  if (sums) types.push_back(x);
  return types;
}

Result<Ok> NormQuantize::eval(EvalContext& c) const {
  Tensor x = decoded(c.in(0), input_type(0)), y(DType::f32, c.in(0).shape());
  if (c.has(3)) {
    const float *a = c.in(0).data<float>(), *b = c.in(3).data<float>();
    Tensor sum(DType::f32, x.shape());
    for (int64_t i = 0; i < sum.size(); ++i) {
      sum.mutable_data<float>()[i] = qn_add_f32(a[i], b[i]);
    }
    x = sum;
  }
  QC_TRY(rows.eval(x, c.has(1) ? &c.in(1) : nullptr, c.has(2) ? &c.in(2) : nullptr, y, nullptr,
                   nullptr, loc()));
  eval_epilogue(epilogue, y, c, output()->type());
  if (sums) c.set_out(output_count() - 1, std::move(x));
  return Ok{};
}

Result<Ok> NormQuantize::lower(Lowering& l) const {
  const NormRows::Sizes sizes = rows.sizes(l.in_type(0).shape);
  kernel::NormQuantize c;
  rows.fill(c, sizes);
  QC_TRY(rows.set_row_strides(c, *this, l));
  c.x_type = QK_F32;
  if (const Format* f = l.in_type(0).format.get()) {
    c.x_type = code_type(l.in_type(0).dtype);
    c.x_scale = f->scale_at();
    if (f->zero_point.kind == Component::Kind::fixed) c.x_zero = f->zero_at();
  }
  c.x = l.in(0);
  c.residual = l.optional(3);
  c.gamma = l.optional(1);
  c.beta = l.optional(2);
  QC_TRY(lower_epilogue(l, epilogue, c));
  CallInfo info;
  if (sums) {
    c.sums = l.out(output_count() - 1);
    constexpr int kSums = 3;  // among the results of the kernel
    if (!strided_alias(input(0))) info.in_place.push_back({0, kSums});
    info.in_place.push_back({1, kSums});
  }
  l.emit(c, info);
  return Ok{};
}

namespace {

/// The addition that gives `x`, where a norm can take it in: of two values of its type.
Node* residual_sum(Value* x) {
  Node* sum = x->def();
  const auto* is_sum = capability<MaySum>(sum);
  const bool fits = is_sum && is_sum->is_plain_sum() && sum->input_type(0) == x->type() &&
                    sum->input_type(1) == x->type() && !sum->input(0)->is_constant() &&
                    !sum->input(1)->is_constant();
  return fits ? sum : nullptr;
}

}  // namespace

Result<Node*> Norm::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                  std::string& reason) {
  const auto refuse = [&](const char* why) {
    reason = why;
    return static_cast<Node*>(nullptr);
  };
  Value* x = input(0);
  if (statistics) return refuse("its statistics are read too");
  if (x->dtype() != DType::f32) return refuse("it is not f32");
  if (epilogue.dynamic && epilogue.per_token && !has_whole_tokens(rows, x->shape())) {
    return refuse("its groups are parts of rows");
  }
  auto fused = std::make_unique<NormQuantize>(rows.kind, epilogue.dynamic);
  fused->rows = rows;
  fused->epilogue = epilogue;
  const auto is_constant = [&](size_t i) { return !input(i) || input(i)->is_constant(); };
  Node* sum = is_constant(1) && is_constant(2) ? residual_sum(x) : nullptr;
  if (!sum) {
    Value* codes = codes_behind(x);
    if (codes && codes->type().format->granularity == Granularity::tensor) x = codes;
    return point.graph.add(std::move(fused), {x, input(1), input(2)}, point.loc, point.before);
  }
  // It stands where the addition stood, before all who read the sum.
  fused->sums = !x->has_one_use();
  QC_ASSIGN(Node * made,
            point.graph.add(std::move(fused), {sum->input(0), input(1), input(2), sum->input(1)},
                            join(sum->loc(), point.loc), sum));
  if (!x->has_one_use()) point.graph.replace_uses(x, made->output(made->output_count() - 1));
  return made;
}

}  // namespace qc
