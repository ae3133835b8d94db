#include "ops/matmul/matmul.h"

#include "interp/eval.h"
#include "kernels/gemm/calls.h"
#include "ops/common/absorb.h"
#include "ops/common/dispatch.h"
#include "ops/common/limits.h"
#include "ops/common/registration.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/lowered.h"
#include "ops/matmul/plain.h"
#include "program/lowering.h"

namespace qc {

const OpInfo MatMul::kInfo = {
    .name = "matmul",
    .min_inputs = 2,
    .max_inputs = 2,
    .summary = "matrix product; batches broadcast, vectors are rows or columns",
};
const OpInfo Linear::kInfo = {
    .name = "linear",
    .min_inputs = 2,
    .max_inputs = 3,
    .summary = "product with a matrix of rows per output, plus bias, with a limit",
};

namespace {

template <class Loops>
Result<Ok> eval_product(EvalContext& c, const GemmShape& p, const Tensor* bias, double lo,
                        double hi) {
  const Tensor &a = c.in(0), &b = c.in(1);
  return for_arithmetic_type(a.dtype(), c.loc(), [&](auto type) {
    using T = decltype(type);
    using E = typename T::Element;
    const std::vector<E> as = elements<T>(a), bs = elements<T>(b);
    for_each_matrix(p, [&](int64_t i, int64_t from_a, int64_t from_b) {
      Loops::template matrix<T, E>(c.dot(), p, as.data() + from_a, bs.data() + from_b, bias,
                                   T::limit(lo), T::limit(hi), c.out(0), i * p.m * p.n);
    });
  });
}

/// The product with any strides, axis by axis; more than three batch axes become several calls.
Result<Ok> lower_plain(Lowering& l, const GemmDims& p, kernel::Matmul params, size_t from_axis,
                       int64_t macs) {
  const size_t axes = p.batch.size() - from_axis;
  if (axes > 3) {
    if (!p.batch[from_axis].is_static()) QC_TRY(l.need_numbers());
    const int64_t count = p.batch[from_axis].value();
    const Dim element = static_cast<int64_t>(bytes(params.y.dtype));
    Dim inner = p.m * p.n;
    for (size_t i = from_axis + 1; i < p.batch.size(); ++i) inner = inner * p.batch[i];
    for (int64_t i = 0; i < count; ++i) {
      kernel::Matmul one = params;
      one.lhs =
          part(params.lhs, Dim(i) * p.a_batch[from_axis] * element, {a_elements(p, from_axis + 1)});
      one.rhs =
          part(params.rhs, Dim(i) * p.b_batch[from_axis] * element, {b_elements(p, from_axis + 1)});
      one.y = part(params.y, Dim(i) * inner * element, {inner});
      QC_TRY(lower_plain(l, p, one, from_axis + 1, macs / count));
    }
    return Ok{};
  }
  for (size_t i = 0; i < 3; ++i) {
    const bool used = i + axes >= 3;
    const size_t d = from_axis + (used ? i + axes - 3 : 0);
    params.batch[i] = used ? p.batch[d] : Dim(1);
    params.a_batch[i] = used ? p.a_batch[d] : Dim(0);
    params.b_batch[i] = used ? p.b_batch[d] : Dim(0);
  }
  params.m = p.m;
  params.n = p.n;
  params.k = p.k;
  params.a_m = p.k;
  params.a_k = 1;
  params.b_k = p.b_rows ? Dim(1) : p.n;
  params.b_n = p.b_rows ? p.k : Dim(1);
  params.bias_n = 1;
  l.emit(params, {.in_place = {}, .macs = macs});
  return Ok{};
}

Result<Ok> lower_product(Lowering& l, const GemmDims& p, View bias, double lo, double hi,
                         int64_t macs) {
  QC_TRY(check_sizes(l, p));
  QC_ASSIGN(const std::string type, arithmetic_suffix(l.in_type(0).dtype, l.loc()));
  const bool a_dense = dense(p, p.a_batch, p.m * p.k), b_dense = dense(p, p.b_batch, p.k * p.n);
  const bool fast =
      l.in_type(0).dtype == DType::f32 &&
      ((a_dense && b_dense) || (a_dense && p.b_matrices == 1) || (p.a_matrices == 1 && b_dense));
  if (!fast) {
    kernel::Matmul c;
    c.type = type;
    c.lhs = l.in(0);
    c.rhs = l.in(1);
    c.bias = bias;
    c.y = l.out();
    c.lo = static_cast<float>(lo);
    c.hi = static_cast<float>(hi);
    return lower_plain(l, p, c, 0, macs);
  }
  const bool one = p.b_matrices == 1 && a_dense;  // all rows meet the same matrix
  kernel::Gemm params;
  params.batch = one ? Dim(1) : p.matrices();
  params.m = one ? p.m * p.matrices() : p.m;
  params.n = p.n;
  params.k = p.k;
  params.x_batch = p.a_matrices == 1 ? Dim(0) : p.m * p.k;
  params.y_batch = p.m * p.n;
  params.w_batch = p.b_matrices == 1 ? Dim(0) : p.k * p.n;
  params.w_k = p.b_rows ? Dim(1) : p.n;
  params.w_n = p.b_rows ? p.k : Dim(1);
  params.x_row = p.k;
  params.lo = static_cast<float>(lo);
  params.hi = static_cast<float>(hi);
  params.add_f32.lo = -QN_INF_F32;
  params.add_f32.hi = QN_INF_F32;
  params.x = l.in(0);
  params.w = l.in(1);
  params.bias = bias;
  params.y = l.out();
  l.emit(params, {.in_place = {}, .macs = macs});
  return Ok{};
}

Result<Ok> check_types(const Node& n) {
  const Type &a = n.input_type(0), &b = n.input_type(1);
  if (a.dtype != b.dtype) {
    return error(Code::type, n.loc(), "product of {} and {} values", name(a.dtype), name(b.dtype));
  }
  QC_TRY(arithmetic_suffix(a.dtype, n.loc()));
  return Ok{};
}

}  // namespace

Result<std::vector<Type>> MatMul::infer() const {
  QC_TRY(check_types(*this));
  QC_ASSIGN(Dims shape,
            product_shape(input_type(0).shape, input_type(1).shape, transpose_b, loc()));
  return std::vector<Type>{Type(input_type(0).dtype, std::move(shape))};
}

int64_t MatMul::macs() const { return product_macs(*this); }

namespace {
template <class Loops>
Result<Ok> eval_by(const MatMul& node, EvalContext& c) {
  const GemmShape p =
      product_of(c.in(0).shape(), c.in(1).shape(), node.transpose_b, c.out(0).shape());
  return eval_product<Loops>(c, p, nullptr, -kInf, kInf);
}
template <class Loops>
Result<Ok> eval_by(const Linear& node, EvalContext& c) {
  return eval_product<Loops>(c, linear_product(c.in(0).shape(), c.in(1).shape()),
                             c.has(2) ? &c.in(2) : nullptr, node.lo, node.hi);
}
}  // namespace

Result<Ok> MatMul::eval(EvalContext& c) const { return eval_by<PlainLoops>(*this, c); }
Result<Ok> MatMul::eval_fast(EvalContext& c) const { return eval_by<FastLoops>(*this, c); }

Result<Ok> MatMul::lower(Lowering& l) const {
  QC_ASSIGN(const GemmDims p, matmul_product(l, transpose_b));
  return lower_product(l, p, View{}, -kInf, kInf, macs());
}

Result<std::vector<Type>> Linear::infer() const {
  const Type &x = input_type(0), &w = input_type(1);
  QC_TRY(check_types(*this));
  if (x.rank() < 1 || w.rank() != 2 || differ(x.shape.back(), w.shape[1])) {
    return error(Code::shape, loc(), "linear of {} with weights {}", str(x.shape), str(w.shape));
  }
  if (input(2) && (input_type(2).dtype != x.dtype || input_type(2).rank() != 1 ||
                   differ(input_type(2).shape[0], w.shape[0]))) {
    return error(Code::shape, loc(), "bias of {} outputs is {}", w.shape[0].str(),
                 str(input_type(2)));
  }
  QC_TRY(check_limits(x.dtype, {lo, hi}, loc()));
  Dims shape = x.shape;
  shape.back() = w.shape[0];
  return std::vector<Type>{Type(x.dtype, std::move(shape))};
}

int64_t Linear::macs() const { return product_macs(*this); }

Result<Ok> Linear::eval(EvalContext& c) const { return eval_by<PlainLoops>(*this, c); }
Result<Ok> Linear::eval_fast(EvalContext& c) const { return eval_by<FastLoops>(*this, c); }

Result<Ok> Linear::lower(Lowering& l) const {
  const GemmDims p = linear_product(l.in_type(0).shape, l.in_type(1).shape);
  return lower_product(l, p, l.optional(2), lo, hi, macs());
}

Result<bool> Linear::absorb_after(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this) || lo != -kInf || hi != kInf) return false;
  Value* w = scale ? record_scaled(graph, input(1), 0, scale) : input(1);
  graph.set_inputs(this, {input(0), w, record_bias(graph, input(2), scale, shift)});
  return true;
}

Result<bool> Linear::absorb_before(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this)) return false;
  Value* bias = shift ? record_shifted_bias(graph, input(1), input(2), shift, 1) : input(2);
  Value* w = scale ? record_scaled(graph, input(1), 1, scale) : input(1);
  if (bias) {
    graph.set_inputs(this, {input(0), w, bias});
  } else {
    graph.set_inputs(this, {input(0), w});
  }
  return true;
}

bool Linear::absorb_clamp(IsClamp::Limits limits) {
  return absorb_limits(input_type(0).dtype, limits, lo, hi);
}

}  // namespace qc
