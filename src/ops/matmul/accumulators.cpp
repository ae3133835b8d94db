#include "ops/matmul/accumulators.h"

#include <fmt/format.h>

#include "kernels/qgemm/calls.h"
#include "ops/common/codes.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/plain.h"

namespace qc {
namespace {

/// Whether each row of x has a scale of its own.
bool has_row_scales(const Format& x) { return x.granularity != Granularity::tensor; }

/// The channel (column) of element i of the second operand.
int64_t column_of(const GemmShape& p, int64_t i) { return p.b_rows ? i / p.k % p.n : i % p.n; }

/// Numbers per column are as many as there can be.
int64_t columns_of(const Lowering& l, const GemmDims& p) { return l.bounds(p.n).max; }

/// Zero points of the second operand as it stands, one per column; absent where all are 0.
View plain_zeros(Lowering& l, const Format& f, int64_t n) {
  std::vector<int32_t> zeros;
  bool any = false;
  for (int64_t c = 0; c < n; ++c) {
    zeros.push_back(f.zero_at(c % f.scale.values.size()));
    any = any || zeros.back() != 0;
  }
  if (!any) return View{};
  return l.constant(Tensor::of<int32_t>(DType::i32, {n}, zeros), "zero points");
}

/// The product with any strides, axis by axis; more than three batch axes become several calls.
Result<Ok> lower_any(Lowering& l, const GemmDims& p, kernel::Qmatmul params, size_t from_axis,
                     int64_t macs) {
  const size_t axes = p.batch.size() - from_axis;
  const auto bytes_of = [](DType d) { return Dim(static_cast<int64_t>(bytes(d))); };
  if (axes > 3) {
    if (!p.batch[from_axis].is_static()) QC_TRY(l.need_numbers());
    const int64_t count = p.batch[from_axis].value();
    Dim rows = p.m;
    for (size_t i = from_axis + 1; i < p.batch.size(); ++i) rows = rows * p.batch[i];
    for (int64_t i = 0; i < count; ++i) {
      kernel::Qmatmul one = params;
      one.x = part(params.x, Dim(i) * p.a_batch[from_axis] * bytes_of(params.x.dtype),
                   {a_elements(p, from_axis + 1)});
      one.w = part(params.w, Dim(i) * p.b_batch[from_axis] * bytes_of(params.w.dtype),
                   {b_elements(p, from_axis + 1)});
      for (View* v : {&one.x_scales, &one.x_zeros}) {
        if (v->present() && params.per_row == 1) *v = part(*v, Dim(i) * rows * Dim(4), {rows});
      }
      one.y = part(params.y, Dim(i) * rows * p.n * bytes_of(params.y.dtype), {rows * p.n});
      QC_TRY(lower_any(l, p, one, from_axis + 1, macs / count));
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
  l.emit(params, {.in_place = {}, .macs = macs});
  return Ok{};
}

}  // namespace

template <class Loops>
void eval_accumulators(EvalContext& c, const QuantNode& node, const GemmShape& p,
                       AccumulatorOutput output) {
  const Format &x = *node.in_q(0), &w = *node.in_q(1);
  const bool rows = has_row_scales(x), coded = c.has(2) && c.in(2).dtype() != DType::f32;
  if (c.has(2) && !coded) output.add_bias(c.in(2));
  std::vector<int32_t> as(static_cast<size_t>(c.in(0).size())), bs;
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    const int32_t zero = !c.has(3)  ? x.zero_at()
                         : c.has(4) ? c.in(4).data<int32_t>()[rows ? i / p.k : 0]
                                    : 0;
    as[static_cast<size_t>(i)] = static_cast<int32_t>(c.in(0).as_int(i)) - zero;
  }
  for (int64_t i = 0; i < c.in(1).size(); ++i) {
    const int64_t scale = column_of(p, i) % w.scale.values.size();
    bs.push_back(static_cast<int32_t>(c.in(1).as_int(i)) - w.zero_at(scale));
  }
  for_each_matrix(p, [&](int64_t i, int64_t from_a, int64_t from_b) {
    Loops::accumulate(
        p, as.data() + from_a, bs.data() + from_b, [&](int64_t m, int64_t n, int64_t sum) {
          const float x_scale = c.has(3) ? c.in(3).data<float>()[rows ? i * p.m + m : 0] : 1.0f;
          output.put(c.out(0), (i * p.m + m) * p.n + n, sum + (coded ? c.in(2).as_int(n) : 0), n,
                     x_scale);
        });
  });
}

template void eval_accumulators<PlainLoops>(EvalContext&, const QuantNode&, const GemmShape&,
                                            AccumulatorOutput);
template void eval_accumulators<FastLoops>(EvalContext&, const QuantNode&, const GemmShape&,
                                           AccumulatorOutput);

Result<Ok> lower_accumulators(Lowering& l, const QuantNode& node, const GemmDims& p,
                              AccumulatorOutput output, int64_t macs) {
  QC_TRY(check_sizes(l, p));
  const Type &x = l.in_type(0), &w = l.in_type(1);
  if (l.has(2) && l.in_type(2).dtype == DType::f32) {
    QC_ASSIGN(const Tensor bias, l.pool().get(*l.constant_in(2)));
    output.add_bias(bias);
  }
  const bool constant = l.constant_in(1).has_value(), rows = has_row_scales(*x.format);
  const bool a_dense = dense(p, p.a_batch, p.m * p.k), b_dense = dense(p, p.b_batch, p.k * p.n);
  const bool tiles =
      node.accumulator().type == DType::i32 && bits(w.dtype) <= 8 && fits_16_bits(x) &&
      (a_dense || !rows) &&
      ((a_dense && b_dense) || (a_dense && p.b_matrices == 1) || (p.a_matrices == 1 && b_dense));
  const View scales = l.has(3) ? l.in(3) : View{}, zeros = l.has(4) ? l.in(4) : View{};
  const int32_t x_zero = x.format->is_dynamic() ? 0 : x.format->zero_at();
  const Stage stage = output.stage(l);
  if (!tiles) {
    kernel::Qmatmul params;
    params.m = p.m;
    params.n = p.n;
    params.k = p.k;
    params.b_k = p.b_rows ? Dim(1) : p.n;
    params.b_n = p.b_rows ? p.k : Dim(1);
    params.per_row = rows ? 1 : 0;
    params.x_zero = x_zero;
    params.x_codes = stored_suffix(x.dtype);
    params.w_codes = stored_suffix(w.dtype);
    params.x = l.in(0);
    params.w = l.in(1);
    params.bias = accumulator_bias(l, 2, DType::i64);
    params.stages = {stage};
    params.w_zeros = plain_zeros(l, *w.format, columns_of(l, p));
    params.x_scales = scales;
    params.x_zeros = zeros;
    params.y = l.out();
    return lower_any(l, p, params, 0, macs);
  }
  const bool one = p.b_matrices == 1 && a_dense;  // all rows meet the same matrix
  kernel::Qgemm params;
  params.batch = one ? Dim(1) : p.matrices();
  params.m = one ? p.m * p.matrices() : p.m;
  params.n = p.n;
  params.k = p.k;
  params.x_batch = p.a_matrices == 1 ? Dim(0) : p.m * p.k;
  params.w_batch = p.b_matrices == 1 ? Dim(0) : p.k * p.n;
  params.w_k = p.b_rows ? Dim(1) : p.n;
  params.w_n = p.b_rows ? p.k : Dim(1);
  params.y_batch = p.m * p.n;
  params.per_row = rows ? 1 : 0;
  params.x_type = code_type(x.dtype);
  params.x_zero = x_zero;
  CallInfo info{.in_place = {}, .macs = macs};
  const int64_t columns = columns_of(l, p);
  StoredWeights stored(w, columns);
  if (constant) {
    GemmShape sizes;
    sizes.n = p.n.value();
    sizes.k = p.k.value();
    sizes.b_rows = p.b_rows;
    params.w = stored.plain(l, [sizes](int64_t i) { return column_of(sizes, i); });
  } else {
    params.w = l.in(1);
    params.flip = is_signed(w.dtype) ? 0 : 1;
    const int32_t middle = is_signed(w.dtype) ? 0 : 128;
    stored.zeros.clear();
    if (middle != 0 || w.format->zero_at() != 0) {
      for (int64_t c = 0; c < columns; ++c) stored.zeros.push_back(w.format->zero_at() - middle);
      info.facts.push_back("one_w_zero");
    }
  }
  params.x = l.in(0);
  params.bias = accumulator_bias(l, 2, DType::i32);
  params.stages = {stage};
  params.w_zeros = stored.zero_points(l);
  params.x_scales = scales;
  params.x_zeros = zeros;
  params.y = l.out();
  l.emit(params, std::move(info));
  return Ok{};
}

}  // namespace qc
