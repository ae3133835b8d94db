#include <algorithm>
#include <cmath>

#include "interp/eval.h"
#include "kernels/qresize/calls.h"
#include "ops/common/codes.h"
#include "ops/common/index.h"
#include "ops/common/strided.h"
#include "ops/resize/resize.h"
#include "program/lowering.h"

namespace qc {

const OpInfo QResize::kInfo = {
    .name = "qresize",
    .traits = kAnyLayout,
    .summary = "codes between codes, linearly, along at most two axes",
};

namespace {

// Bits of the weights behind the point: accumulators of 8-bit codes then fit 32 bits, those of 16
// bits 64.
constexpr int kBits = 11, kWideBits = 20, kOrtBits = 10;
constexpr std::string_view kOrtCoordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                                "pytorch_half_pixel"};

/// The axes that change, by sizes or by a scale.
std::vector<size_t> changed_axes(const Resampling& r, const Dims& from) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool scaled = !r.scales.empty() && r.scales[i] != 0 && r.scales[i] != 1;
    if (scaled || from[i] != r.size[i]) axes.push_back(i);
  }
  return axes;
}

/// The axes that ONNX Runtime takes as rows and columns, and whether in integers; none where it has
/// no bilinear form. Of three axes the first one stays: its trilinear form is bilinear then.
struct OrtAxes {
  size_t rows;
  bool fixed;
};
std::optional<OrtAxes> ort_axes(const Resampling& r, const Dims& from) {
  const std::vector<size_t> axes = changed_axes(r, from);
  const size_t rank = from.size();
  if (rank == 2) return OrtAxes{0, false};
  const auto within = [&](size_t first) {
    return std::all_of(axes.begin(), axes.end(), [&](size_t a) { return a - first < 2; });
  };
  if (rank == 3 && within(1)) return OrtAxes{1, false};
  if (rank != 4) return std::nullopt;
  if (within(2)) return OrtAxes{2, false};
  if (within(1)) return OrtAxes{1, true};
  return std::nullopt;
}

}  // namespace

std::string no_integer_resize(const Resampling& r, const Dims& from, const Arithmetic& arithmetic) {
  if (r.mode != "linear") return "interpolation is not linear";
  if (r.antialias || r.exclude_outside || r.bytes || !r.roi.empty())
    return "a filter, a region or rounded weights";
  if (arithmetic.combine != Arithmetic::Combine::onnxruntime) {
    return changed_axes(r, from).size() > 2 ? "more than two axes change" : "";
  }
  const auto& known = kOrtCoordinates;
  if (std::find(std::begin(known), std::end(known), r.coordinates) == std::end(known)) {
    return "ONNX Runtime's form knows no coordinates '" + r.coordinates + "'";
  }
  return ort_axes(r, from) ? "" : "ONNX Runtime's form is for two neighbouring axes";
}

namespace {

/// Where element `at` of the result lies, as ONNX Runtime's single precision has it.
float ort_source(const std::string& coordinates, int64_t at, float scale, int64_t in, int64_t out) {
  const float x = static_cast<float>(at);
  if (coordinates == "asymmetric") return x / scale;
  if (coordinates == "align_corners") {
    return out == 1 ? 0.0f : qn_mulf(x, static_cast<float>(in - 1)) / static_cast<float>(out - 1);
  }
  if (coordinates == "pytorch_half_pixel" && out == 1) return 0.0f;
  return (x + 0.5f) / scale - 0.5f;
}

}  // namespace

/// Places and weights: pairs for every element of an axis of the result.
struct QResize::Plan {
  struct Axis {
    size_t at = 0;
    int64_t in = 1, out = 1;
    std::vector<int32_t> positions;
    std::vector<int32_t> weights;
    std::vector<float> distances;  // ONNX Runtime's weights where they are floats
  };
  std::vector<Axis> axes;  // of which the last vary faster
  bool ort = false, fixed = false;
  int bits = kBits;

  /// Two axes at least: one of a single element goes before the others.
  void complete() {
    while (axes.size() < 2) {
      axes.insert(axes.begin(), Axis{SIZE_MAX, 1, 1, {0, 0}, {1 << bits, 0}, {1.0f, 0.0f}});
    }
  }
  /// Sets sizes for x of `dims`, axis a of the plan being axis places[a] of them (SIZE_MAX: none).
  template <class Params>
  void fill(Params& p, const Ints& dims, const std::vector<size_t>& positions) const {
    const size_t first = positions[0] == SIZE_MAX ? 0 : positions[0] + 1;
    p.outer = static_cast<int32_t>(first == 0 ? 1 : extent(dims, 0, first - 1));
    p.mid = static_cast<int32_t>(positions[1] == SIZE_MAX ? 1 : extent(dims, first, positions[1]));
    p.inner = static_cast<int32_t>(
        extent(dims, positions[1] == SIZE_MAX ? 0 : positions[1] + 1, dims.size()));
    for (size_t i = 0; i < 2; ++i) {
      p.in[i] = static_cast<int32_t>(axes[i].in);
      p.out[i] = static_cast<int32_t>(axes[i].out);
    }
    p.bits = bits;
    p.twice = p.outer - (dims.size() == 3 ? 1 : 0);  // with three axes, the last of the first one
  }
};

QResize::Plan QResize::plan() const {
  const Dims& from = input_type(0).shape;
  Plan plan;
  std::vector<size_t> axes = changed_axes(*this, from);
  plan.ort = parsed_arithmetic().combine == Arithmetic::Combine::onnxruntime;
  if (plan.ort) {
    const OrtAxes chosen = *ort_axes(*this, from);
    axes = {chosen.rows, chosen.rows + 1};
    plan.fixed = chosen.fixed;
  }
  plan.bits = plan.ort ? kOrtBits : bits(input_type(0).dtype) <= 8 ? kBits : kWideBits;
  const int32_t one = 1 << plan.bits;
  for (size_t i : axes) {
    Plan::Axis a{i, from[i].value(), size[i].value(), {}, {}, {}};
    if (!plan.ort) {
      const Axis exact = axis(from, i);
      a.positions = exact.index;
      for (size_t n = 1; n < exact.weight.size(); n += 2) {
        const int32_t second =
            static_cast<int32_t>(std::lrint(std::ldexp(exact.weight[n], plan.bits)));
        a.weights.insert(a.weights.end(), {one - second, second});
      }
      plan.axes.push_back(std::move(a));
      continue;
    }
    const float last = static_cast<float>(a.in - 1);
    const float step = !scales.empty() && scales[i] > 0
                           ? static_cast<float>(scales[i])
                           : static_cast<float>(a.out) / static_cast<float>(a.in);
    for (int64_t n = 0; n < a.out; ++n) {
      const float c = std::clamp(ort_source(coordinates, n, step, a.in, a.out), 0.0f, last);
      const int32_t i1 = static_cast<int32_t>(c);
      const int32_t i2 = static_cast<int32_t>(std::min<int64_t>(i1 + 1, a.in - 1));
      a.positions.insert(a.positions.end(), {i1, i2});
      // Each place is weighed by the distance to the other one.
      const int32_t c10 = static_cast<int32_t>(c * static_cast<float>(one));
      const bool same = i1 == i2;
      a.distances.push_back(same ? 0.5f : std::fabs(c - static_cast<float>(i2)));
      a.distances.push_back(same ? 0.5f : std::fabs(c - static_cast<float>(i1)));
      a.weights.push_back(same ? one / 2 : std::abs(c10 - i2 * one));
      a.weights.push_back(same ? one / 2 : std::abs(c10 - i1 * one));
    }
    plan.axes.push_back(std::move(a));
  }
  plan.complete();
  return plan;
}

Result<std::vector<Type>> QResize::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check(x, loc()));
  if (x.format || to.format) {
    QC_TRY(check_quantized({0}));
    QC_TRY(check_one_scale(x.quant(), loc()));
    QC_TRY(check_one_scale(to, loc()));
  } else if (bits(x.dtype) != 8 || is_float(x.dtype) || x.dtype == DType::boolean ||
             x.dtype != to.dtype) {
    return error(Code::type, loc(), "{} resized to {}, expected integers of 8 bits", str(x),
                 str(to));
  }
  auto known = parse_arithmetic(arithmetic);
  if (!known.ok()) return error(Code::attribute, loc(), "{}", known.diag().text);
  const std::string wrong = no_integer_resize(*this, x.shape, *known);
  if (!wrong.empty()) return error(Code::attribute, loc(), "no integer resize: {}", wrong);
  if (known->combine == Arithmetic::Combine::onnxruntime) {
    if (!(x.quant() == to) || bits(x.dtype) != 8) {
      return error(Code::quant, loc(), "{} resized to {}, expected one format of 8 bits", str(x),
                   str(to));
    }
    for (const Dim& d : x.shape) {  // places in 1024ths fit 32 bits
      if (!d.is_static() || d.value() <= 1 << 20) continue;
      return error(Code::limit, loc(), "an axis of {} elements", d.value());
    }
  }
  Type y(to, size);
  y.layout = x.layout;
  if (to.format) QC_TRY(check_format(y, loc()));
  return std::vector<Type>{std::move(y)};
}

AccumulatorProof QResize::accumulator() const {
  AccumulatorProof proof;
  const Type& x = input_type(0);
  const bool wide = bits(x.dtype) > 8;
  proof.terms = 4;
  proof.weight_sum = int64_t{1} << 2 * (wide ? kWideBits : kBits);
  const int64_t zero = x.format ? x.format->zero_at() : 0;
  const int64_t lo = x.format ? x.format->qmin : code_range(x.dtype).lo;
  const int64_t hi = x.format ? x.format->qmax : code_range(x.dtype).hi;
  proof.bound = proof.weight_sum * std::max(hi - zero, zero - lo);
  proof.type = proof.bound <= INT32_MAX ? DType::i32 : DType::i64;
  return proof;
}

namespace {

/// What evaluation knows of sizes and codes.
struct ResizeTerms {
  int32_t outer = 1, mid = 1, inner = 1, in[2] = {}, out[2] = {}, bits = 0, twice = 0;
  int32_t type_x = 0, type_y = 0, zx = 0, zero = 0, lo = 0, hi = 0;
  float multiplier = 0;
  int32_t q31 = 0, mantissa = 0, shift = 0;
};

/// How accumulators become codes.
template <class Params>
void fill_codes(Params& p, const Type& x, const QType& to, const Arithmetic& arithmetic,
                int32_t weight_bits) {
  p.type_x = code_type(x.dtype);
  p.type_y = code_type(to.dtype);
  float ratio = 1.0f;
  p.lo = static_cast<int32_t>(code_range(to.dtype).lo);
  p.hi = static_cast<int32_t>(code_range(to.dtype).hi);
  // ONNX Runtime interpolates the codes themselves; integers that are no codes have no zero point.
  if (x.format && arithmetic.combine != Arithmetic::Combine::onnxruntime) {
    p.zx = x.format->zero_at();
    p.zero = to.format->zero_at();
    const CodeLimits limits = code_limits(to);
    p.lo = limits.lo;
    p.hi = limits.hi;
    ratio = x.format->scale_at() / to.format->scale_at();
  }
  p.multiplier = std::ldexp(ratio, -2 * weight_bits);
  const Q31 q = q31_of(ratio, arithmetic);
  p.q31 = q.on;
  p.mantissa = q.mantissa;
  p.shift = q.shift + 2 * weight_bits;
}

}  // namespace

Result<Ok> QResize::eval(EvalContext& c) const {
  const Plan plan = this->plan();
  const Tensor& x = c.in(0);
  ResizeTerms p;
  plan.fill(p, x.shape(), {plan.axes[0].at, plan.axes[1].at});
  fill_codes(p, input_type(0), to, parsed_arithmetic(), plan.bits);
  const Plan::Axis &rows = plan.axes[0], &columns = plan.axes[1];
  for (int64_t n = 0; n < c.out(0).size(); ++n) {
    const int64_t i = n % p.inner, k = n / p.inner % p.out[1];
    const int64_t m = n / p.inner / p.out[1] % p.mid, j = n / p.inner / p.out[1] / p.mid % p.out[0];
    const int64_t o = n / p.inner / p.out[1] / p.mid / p.out[0];
    int32_t corner[4];
    int64_t sum = 0;
    for (size_t t = 0; t < 4; ++t) {
      const size_t a = static_cast<size_t>(2 * j) + t / 2, b = static_cast<size_t>(2 * k) + t % 2;
      const int64_t row = (o * p.in[0] + rows.positions[a]) * p.mid + m;
      const int64_t at = (row * p.in[1] + columns.positions[b]) * p.inner + i;
      corner[t] = static_cast<int32_t>(x.as_int(at));
      sum += int64_t{rows.weights[a]} * columns.weights[b] * (corner[t] - p.zx);
    }
    int32_t code = 0;
    if (plan.fixed) {
      code = static_cast<int32_t>(sum / (int64_t{1} << 2 * p.bits));
    } else if (plan.ort) {
      const float *u = &rows.distances[static_cast<size_t>(2 * j)],
                  *v = &columns.distances[static_cast<size_t>(2 * k)];
      code = qn_bilinear_code_ort(corner[0], corner[1], corner[2], corner[3], u[0], u[1], v[0],
                                  v[1], o >= p.twice);
    } else if (p.q31) {
      code = qn_rescale_q31(sum, p.mantissa, p.shift, p.zero, p.lo, p.hi);
    } else {
      code = qn_rescale_wide(sum, p.multiplier, p.zero, p.lo, p.hi);
    }
    c.out(0).set_int(n, code);
  }
  return Ok{};
}

Result<Ok> QResize::lower(Lowering& l) const {
  QC_TRY(l.need_numbers());
  if (count(l.out_dims()) == 0) return Ok{};
  QC_TRY(l.param(count(l.in_dims(0))));
  QC_TRY(l.param(count(l.out_dims())));
  const Type& x = l.in_type(0);
  Plan plan = this->plan();
  std::vector<size_t> positions;
  for (Plan::Axis& a : plan.axes) {
    if (a.at == SIZE_MAX) continue;
    a.at = static_cast<size_t>(physical_axis(x, static_cast<int64_t>(a.at)));
  }
  // Sums of integers do not care which axis comes first; float ones are told.
  const bool transposed = plan.axes[0].at != SIZE_MAX && plan.axes[0].at > plan.axes[1].at;
  if (transposed) std::swap(plan.axes[0], plan.axes[1]);
  for (const Plan::Axis& a : plan.axes) positions.push_back(a.at);
  kernel::Qresize p;
  plan.fill(p, static_dims(l.in_dims(0)), positions);
  p.transposed = transposed;
  fill_codes(p, x, to, parsed_arithmetic(), plan.bits);
  const auto constants = [&](const Plan::Axis& a, View& at, View& by) {
    const int64_t n = static_cast<int64_t>(a.positions.size());
    at = l.constant(Tensor::of<int32_t>(DType::i32, {n}, a.positions), "positions");
    by = plan.ort && !plan.fixed
             ? l.constant(Tensor::of<float>(DType::f32, {n}, a.distances), "weights")
             : l.constant(Tensor::of<int32_t>(DType::i32, {n}, a.weights), "weights");
  };
  p.x = l.in(0);
  constants(plan.axes[0], p.first_positions, p.first_weights);
  constants(plan.axes[1], p.second_positions, p.second_weights);
  p.y = l.out();
  p.arithmetic = plan.fixed                         ? "fixed"
                 : plan.ort                         ? "ort"
                 : accumulator().type == DType::i64 ? "wide"
                                                    : "exact";
  l.emit(p, {.in_place = {}, .macs = 4 * count(static_dims(l.out_dims()))});
  return Ok{};
}

Result<Value*> Resize::quantized(Quantizer& q) const {
  if (!q.codes(0) || !has_one_scale(q.codes(0)->type().quant())) {
    return q.refuse("the operand is not codes with one static scale");
  }
  if (!q.result() || !has_one_scale(*q.result())) {
    return q.refuse("the result is not quantized to one static scale");
  }
  // Between quantize and dequantize nodes ONNX Runtime and PyTorch interpolate in float.
  if (q.arithmetic().combine != Arithmetic::Combine::exact) {
    return q.refuse("the arithmetic interpolates in float");
  }
  const std::string wrong = no_integer_resize(*this, input_type(0).shape, q.arithmetic());
  if (!wrong.empty()) return q.refuse(wrong);
  return q.emit(QResize::kInfo.name, {q.codes(0)},
                {{"to", *q.result()},
                 {"arithmetic", str(q.arithmetic())},
                 {"size", size},
                 {"scales", scales},
                 {"coordinates", coordinates}});
}

}  // namespace qc
