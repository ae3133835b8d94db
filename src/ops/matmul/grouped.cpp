#include "interp/eval.h"
#include "kernels/gemm/calls.h"
#include "ops/common/dispatch.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/plain.h"
#include "program/lowering.h"

namespace qc {

const OpInfo GroupedMatMul::kInfo = {
    .name = "grouped_matmul",
    .min_inputs = 3,
    .max_inputs = 3,
    .summary = "consecutive groups of rows, each times its own matrix",
};

Result<std::vector<Type>> GroupedMatMul::infer() const {
  const Type &x = input_type(0), &w = input_type(1), &offsets = input_type(2);
  if (x.rank() != 2 || w.rank() != 3 || offsets.rank() != 1 || differ(x.shape[1], w.shape[1]) ||
      differ(w.shape[0], offsets.shape[0])) {
    return error(Code::shape, loc(), "grouped product of {} and {} with offsets {}", str(x.shape),
                 str(w.shape), str(offsets.shape));
  }
  const bool float_rows = x.dtype == DType::f32 || x.dtype == DType::f16 || x.dtype == DType::bf16;
  if (!float_rows || w.dtype != x.dtype ||
      (offsets.dtype != DType::i32 && offsets.dtype != DType::i64)) {
    return error(Code::type, loc(), "grouped product of {} and {} with {} offsets", name(x.dtype),
                 name(w.dtype), name(offsets.dtype));
  }
  return std::vector<Type>{Type(x.dtype, {x.shape[0], w.shape[2]})};
}

int64_t GroupedMatMul::macs() const { return product_macs(*this); }

namespace {

template <class Loops>
Result<Ok> eval_groups(EvalContext& c) {
  const Tensor &x = c.in(0), &w = c.in(1), &offsets = c.in(2);
  GemmShape p;
  p.k = w.shape()[1];
  p.n = w.shape()[2];
  return for_arithmetic_type(x.dtype(), c.loc(), [&](auto type) {
    using T = decltype(type);
    using E = typename T::Element;
    const std::vector<E> xs = elements<T>(x), ws = elements<T>(w);
    const int64_t rows = x.shape()[0];
    int64_t start = 0;
    for (int64_t e = 0; e < offsets.size(); ++e) {
      const int64_t end = std::clamp<int64_t>(offsets.as_int(e), start, rows);
      p.m = end - start;
      Loops::template matrix<T, E>(c.dot(), p, xs.data() + start * p.k, ws.data() + e * p.k * p.n,
                                   nullptr, T::limit(-kInf), T::limit(kInf), c.out(0), start * p.n);
      start = end;
    }
  });
}

}  // namespace

Result<Ok> GroupedMatMul::eval(EvalContext& c) const { return eval_groups<PlainLoops>(c); }
Result<Ok> GroupedMatMul::eval_fast(EvalContext& c) const { return eval_groups<FastLoops>(c); }

Result<Ok> GroupedMatMul::lower(Lowering& l) const {
  const Dims &x = l.in_type(0).shape, &w = l.in_type(1).shape;
  for (const Dim& size : {x[0] * x[1], w[1] * w[2], x[0] * w[2]}) QC_TRY(l.param(size));
  kernel::Grouped c;
  c.rows = x[0];
  c.n = w[2];
  c.k = w[1];
  c.groups = w[0];
  c.type = name(l.in_type(0).dtype);
  c.index = name(l.in_type(2).dtype);
  c.x = l.in(0);
  c.w = l.in(1);
  c.offsets = l.in(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
