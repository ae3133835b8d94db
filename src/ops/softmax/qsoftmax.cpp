#include "ops/softmax/qsoftmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interp/eval.h"
#include "kernels/qsoftmax/calls.h"
#include "ops/common/axis.h"
#include "ops/common/codes.h"
#include "program/lowering.h"

namespace qc {
namespace {

constexpr int64_t kMostTables = 4096;  // of 1 KB each, one for every length of a row

}  // namespace

const OpInfo QSoftmax::kInfo = {
    .name = "qsoftmax",
    .traits = kAnyLayout,
    .summary = "softmax of 8-bit codes through ONNX Runtime's table of exponentials",
};

bool QSoftmax::fits(const QType& x, const QType& to) {
  return has_one_scale(x) && has_one_scale(to) && x.dtype == to.dtype && bits(x.dtype) == 8;
}

Result<std::vector<Type>> QSoftmax::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check_quantized({0}));
  QC_TRY(resolve_axis(axis, x.rank(), loc()));
  if (!to.format || !fits(x.quant(), to)) {
    return error(Code::quant, loc(),
                 "expected 8-bit codes of one type and scale each, got {} to {}", str(x), str(to));
  }
  return result(x.shape, x.layout);
}

Tensor QSoftmax::table(int64_t n) const {
  const double scale = double{input_type(0).format->scale_at()};
  const float most = std::log(std::numeric_limits<float>::max() / static_cast<float>(n));
  const double shift = std::max(0.0, double{most} - 5.0) / scale;
  Tensor out(DType::f32, {256});
  for (int64_t i = 0; i < 256; ++i) {
    out.mutable_data<float>()[i] =
        static_cast<float>(std::exp((static_cast<double>(i - 255) + shift) * scale));
  }
  return out;
}

Tensor QSoftmax::tables(const Bounds& rows) const {
  Tensor out(DType::f32, {(rows.max - rows.min + 1) * 256});
  for (int64_t n = rows.min; n <= rows.max; ++n) {
    const Tensor one = table(std::max<int64_t>(n, 1));
    std::copy_n(one.data<float>(), 256, out.mutable_data<float>() + (n - rows.min) * 256);
  }
  return out;
}

float QSoftmax::steps() const { return std::floor(1.0f / to.format->scale_at()); }

std::string QSoftmax::remark() const {
  const float exact = 1.0f / to.format->scale_at(), nearest = std::nearbyint(exact);
  if (nearest == steps()) return {};
  return fmt::format(
      "ONNX Runtime's softmax takes 1 as {} steps of {}, not {}: every result is "
      "smaller by 1/{}",
      steps(), to.format->scale_at(), nearest, nearest);
}

Result<Ok> QSoftmax::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const AxisView view(x.shape(), at);
  const Tensor exponentials = table(view.n);
  const float* t = exponentials.data<float>();
  const CodeLimits limits = code_limits(to);
  const float scale = steps();
  view.for_each_row([&](int64_t start) {
    int64_t most = x.as_int(start);
    for (int64_t k = 0; k < view.n; ++k) most = std::max(most, x.as_int(start + k * view.inner));
    float sum = 0.0f;
    for (int64_t k = 0; k < view.n; ++k) sum += t[255 - (most - x.as_int(start + k * view.inner))];
    for (int64_t k = 0; k < view.n; ++k) {
      const int64_t i = start + k * view.inner;
      c.out(0).set_int(i, qn_softmax_code_ort(t[255 - (most - x.as_int(i))], scale, sum,
                                              to.format->zero_at(), limits.lo, limits.hi));
    }
  });
  return Ok{};
}

Result<Ok> QSoftmax::lower(Lowering& l) const {
  const Type& x = l.in_type(0);
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const AxisDims view(l.in_dims(0), physical_axis(x, at));
  QC_TRY(l.param(view.outer * view.n * view.inner));
  const Bounds rows = l.bounds(view.n);
  if (rows.max - rows.min >= kMostTables) QC_TRY(l.need_numbers());
  const CodeLimits limits = code_limits(to);
  kernel::Qsoftmax c;
  c.outer = view.outer;
  c.n = view.n;
  c.inner = view.inner;
  c.type_x = code_type(x.dtype);
  c.type_y = code_type(to.dtype);
  c.zero = to.format->zero_at();
  c.lo = limits.lo;
  c.hi = limits.hi;
  c.steps = steps();
  c.x = l.in(0);
  c.table = l.constant(tables(rows), "exponentials");
  c.table.dims = {Dim(256)};
  c.table.offset = (view.n - Dim(rows.min)) * Dim(256 * int64_t{sizeof(float)});
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}, .macs = 0});
  return Ok{};
}

}  // namespace qc
