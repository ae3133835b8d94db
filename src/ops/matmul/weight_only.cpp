#include "ops/matmul/weight_only.h"

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "kernels/qgemm/calls.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/plain.h"
#include "quant/groups.h"

namespace qc {
namespace {

/// Inputs that share a scale, and scales of a row of weights.
struct Grouping {
  int64_t group, count;
};
Grouping grouping(const Format& f, const GemmShape& p) {
  const int64_t group = f.granularity == Granularity::group ? f.group : std::max<int64_t>(p.k, 1);
  return {group, (p.k + group - 1) / group};
}

/// The index among known scales of group g of output n.
int64_t scale_index(const Format& f, const Grouping& g, int64_t n, int64_t group) {
  return f.granularity == Granularity::tensor ? 0
         : f.granularity == Granularity::axis ? n
                                              : n * g.count + group;
}

/// Numbers of every group as [n / 16][groups][16], what is beyond n being 0.
template <class T, class F>
Tensor group_panels(DType dtype, const GemmShape& p, const Grouping& g, F&& of) {
  Tensor out(dtype, {(p.n + 15) / 16, g.count, 16});
  T* y = out.mutable_data<T>();
  for (int64_t n = 0; n < p.n; ++n) {
    for (int64_t i = 0; i < g.count; ++i) y[(n / 16 * g.count + i) * 16 + n % 16] = of(n, i);
  }
  return out;
}

}  // namespace

template <class Loops>
void eval_weight_only(EvalContext& c, const GemmShape& p, const Type& weights) {
  std::vector<float> decoded(static_cast<size_t>(c.in(1).size()));
  const Format& f = *weights.format;
  Groups(weights).for_each([&](int64_t i, int64_t g) {
    decoded[static_cast<size_t>(i)] =
        qn_dequantize(static_cast<int32_t>(c.in(1).as_int(i)), f.scale_at(g), f.zero_at(g));
  });
  Loops::template matrix<Native<float>, float>(p, c.in(0).data<float>(), decoded.data(),
                                               c.has(2) ? &c.in(2) : nullptr, -QN_INF_F32,
                                               QN_INF_F32, c.out(0), 0);
}
template void eval_weight_only<PlainLoops>(EvalContext&, const GemmShape&, const Type&);
template void eval_weight_only<FastLoops>(EvalContext&, const GemmShape&, const Type&);

Result<Ok> lower_weight_only(Lowering& l, const GemmShape& p, int64_t macs) {
  QC_TRY(check_sizes(p, l.loc()));
  const Type w = l.in_type(1);
  const Format& f = *w.format;
  const Grouping g = grouping(f, p);
  const bool nibbles = bits(w.dtype) <= 4;
  // Codes are stored as i8 or as 0 to 15: less `shift`.
  const int64_t shift = nibbles ? code_range(w.dtype).lo : is_signed(w.dtype) ? 0 : 128;
  const Tensor scales = group_panels<float>(
      DType::f32, p, g, [&](int64_t n, int64_t i) { return f.scale_at(scale_index(f, g, n, i)); });
  const int64_t zero_count =
      f.zero_point.kind == Component::Kind::known ? f.zero_point.values.size() : 1;
  bool one = true;
  for (int64_t i = 1; i < zero_count; ++i) one = one && f.zero_at(i) == f.zero_at(0);
  View zeros;
  if (!one) {
    zeros = l.constant(
        group_panels<int32_t>(
            DType::i32, p, g,
            [&](int64_t n, int64_t i) { return i32(f.zero_at(scale_index(f, g, n, i)) - shift); }),
        "zero points");
  }
  const Ints shape{(p.n + 15) / 16, p.k, nibbles ? 8 : 16};
  const View panels = l.derived(
      *l.constant_in(1), nibbles ? "nibbles" : "panels8", DType::u8, shape,
      [=](const Tensor& codes) -> Result<Tensor> {
        Tensor out(DType::u8, shape);
        uint8_t* y = out.mutable_data<uint8_t>();
        for (int64_t i = 0; i < codes.size(); ++i) {
          const int64_t n = i / p.k, k = i % p.k, lane = n % 16;
          const int64_t code = codes.as_int(i) - shift;
          uint8_t* row = y + (n / 16 * p.k + k) * shape[2];
          if (nibbles) {
            row[lane % 8] = static_cast<uint8_t>(row[lane % 8] | (code << (lane < 8 ? 0 : 4)));
          } else {
            row[lane] = static_cast<uint8_t>(code);
          }
        }
        return out;
      });
  kernel::Wgemm c;
  c.m = i32(p.m);
  c.n = i32(p.n);
  c.k = i32(p.k);
  c.group = i32(g.group);
  c.nibbles = nibbles ? 1 : 0;
  c.zero = i32(f.zero_at(0) - shift);
  c.x = l.in(0);
  c.w = panels;
  c.scales = l.constant(scales, "scales");
  c.w_zeros = zeros;
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs});
  return Ok{};
}

}  // namespace qc
