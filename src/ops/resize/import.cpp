#include <algorithm>
#include <cmath>

#include "ops/common/importing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/resize/resize.h"

namespace qc {
namespace {

/// An axis of `extent` elements after scaling, rounded down. `single`: scales and products of
/// single precision, as ONNX has them.
Result<Dim> scaled(const Import& m, const Dim& extent, double scale, bool single) {
  if (!(scale >= 1e-6) || scale > 1e6)
    return m.fail(Code::attribute, "a scale of {} (allowed: 1e-6 to 1e6)", scale);
  if (extent.is_static()) {
    const double product = static_cast<double>(extent.value()) * scale;
    const double size =
        std::floor(single ? static_cast<double>(static_cast<float>(product)) : product);
    if (size > static_cast<double>(kMaxTensorBytes))
      return m.fail(Code::limit, "an axis of {} scaled by {} is too long", extent.str(), scale);
    return Dim(static_cast<int64_t>(size));
  }
  if (scale == std::floor(scale)) return extent * Dim(static_cast<int64_t>(scale));
  if (1 / scale == std::floor(1 / scale))
    return floordiv(extent, Dim(static_cast<int64_t>(1 / scale)));
  return m.fail(Code::dim, "an axis of unknown size {} scaled by {}", extent.str(), scale);
}

/// Values that are neither f32 nor f64 are interpolated as f32; the nearest element needs no
/// arithmetic. Interpolated integers are truncated.
Result<Value*> resized(const Import& m, Value* x, AttrMap attrs) {
  const DType dtype = x->dtype();
  const bool moves = std::get<std::string>(attrs["mode"]) == "nearest" && !attrs.contains("roi");
  if (!moves && dtype != DType::f64) {
    QC_ASSIGN(x, m.cast(x, DType::f32));
  }
  QC_ASSIGN(Value * y, m.emit("resize", {x}, attrs));
  return m.cast(y, dtype);
}

// ---- ONNX ----

/// Integers of 8 bits are interpolated and truncated as ONNX Runtime does it.
Result<Value*> onnx_resized(const Import& m, Value* x, const AttrMap& attrs) {
  const Arithmetic ort = parse_arithmetic("onnxruntime").value();
  Resampling r;
  r.size = std::get<Dims>(attrs.at("size"));
  r.scales = std::get<Floats>(attrs.at("scales"));
  r.mode = std::get<std::string>(attrs.at("mode"));
  r.coordinates = std::get<std::string>(attrs.at("coordinates"));
  if (attrs.contains("roi")) r.roi = std::get<Floats>(attrs.at("roi"));
  if (attrs.contains("antialias")) r.antialias = std::get<bool>(attrs.at("antialias"));
  if (attrs.contains("exclude_outside"))
    r.exclude_outside = std::get<bool>(attrs.at("exclude_outside"));
  const bool bytes = x->dtype() == DType::u8 || x->dtype() == DType::i8;
  if (!bytes || !no_integer_resize(r, x->shape(), ort).empty()) return resized(m, x, attrs);
  return m.emit("qresize", {x},
                {{"size", r.size},
                 {"scales", r.scales},
                 {"coordinates", r.coordinates},
                 {"to", x->type().quant()},
                 {"arithmetic", std::string("onnxruntime")}});
}

Result<Floats> numbers(const Import& m, size_t operand, std::string_view what) {
  if (!m.has(operand)) return Floats{};
  QC_ASSIGN(Tensor t, m.constant(m.in(operand), what));
  Floats out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(t.as_double(i));
  return out;
}

/// Upsample and the first Resize: scales only, each element stands at the start of its share.
Result<Values> by_scales(const Import& m, const Floats& scales) {
  Value* x = m.in(0);
  QC_ASSIGN(std::string mode, m.s("mode", "nearest"));
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  if (scales.size() != x->shape().size()) {
    return m.fail(Code::attribute, "{} scales for {}", scales.size(), str(x->type()));
  }
  Dims size;
  for (size_t i = 0; i < scales.size(); ++i) {
    QC_ASSIGN(Dim d, scaled(m, x->shape()[i], scales[i], true));
    size.push_back(d);
  }
  return one(onnx_resized(m, x,
                          {{"size", size},
                           {"scales", scales},
                           {"mode", mode},
                           {"coordinates", std::string("asymmetric")},
                           {"rounding", std::string("floor")}}));
}

Result<Values> onnx_upsample_attributes(Import& m) {
  if (m.given("scales")) {
    QC_ASSIGN(Floats scales, m.floats("scales", {}));
    return by_scales(m, scales);
  }
  QC_ASSIGN(double height, m.f("height_scale", 1));
  QC_ASSIGN(double width, m.f("width_scale", 1));
  return by_scales(m, {1, 1, height, width});
}

Result<Values> onnx_resize_scales(Import& m) {
  QC_ASSIGN(Floats scales, numbers(m, 1, "scales"));
  return by_scales(m, scales);
}

Result<Values> onnx_resize(Import& m) {
  Value* x = m.in(0);
  const size_t rank = x->shape().size();
  QC_ASSIGN(std::string mode, m.s("mode", "nearest"));
  QC_ASSIGN(std::string coordinates, m.s("coordinate_transformation_mode", "half_pixel"));
  QC_ASSIGN(std::string rounding, m.s("nearest_mode", "round_prefer_floor"));
  QC_ASSIGN(std::string policy, m.s("keep_aspect_ratio_policy", "stretch"));
  QC_ASSIGN(double cubic_a, m.f("cubic_coeff_a", -0.75));
  QC_ASSIGN(double extrapolation, m.f("extrapolation_value", 0));
  QC_ASSIGN(bool exclude, m.b("exclude_outside", false));
  QC_ASSIGN(bool antialias, m.b("antialias", false));
  QC_ASSIGN(Ints axes, m.ints("axes", {}));
  if (axes.empty()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  for (int64_t& axis : axes) {
    QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  }
  QC_ASSIGN(Floats given_scales, numbers(m, 2, "scales"));
  Dims size = x->shape();
  Floats scales(rank, 1.0);
  const bool by_size = m.has(3);
  if (by_size) {
    QC_ASSIGN(Dims given, m.known(m.in(3), "sizes"));
    if (given.size() != axes.size())
      return m.fail(Code::attribute, "{} sizes for {} axes", given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      size[static_cast<size_t>(axes[i])] = given[i];
      scales[static_cast<size_t>(axes[i])] = 0;
    }
    if (policy != "stretch") {
      double best = policy == "not_larger" ? kInf : 0;
      for (int64_t axis : axes) {
        const Dim &from = x->shape()[static_cast<size_t>(axis)],
                  &to = size[static_cast<size_t>(axis)];
        if (!from.is_static() || !to.is_static() || from.value() <= 0) {
          return m.fail(Code::dim, "the aspect ratio of {} is not known", str(x->shape()));
        }
        const double s = static_cast<double>(to.value()) / static_cast<double>(from.value());
        best = policy == "not_larger" ? std::min(best, s) : std::max(best, s);
      }
      for (int64_t axis : axes) {
        const double from = static_cast<double>(x->shape()[static_cast<size_t>(axis)].value());
        size[static_cast<size_t>(axis)] = Dim(std::llround(best * from));
        scales[static_cast<size_t>(axis)] = best;
      }
    }
  } else {
    if (given_scales.size() != axes.size()) {
      return m.fail(Code::attribute, "{} scales for {} axes", given_scales.size(), axes.size());
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t axis = static_cast<size_t>(axes[i]);
      scales[axis] = given_scales[i];
      QC_ASSIGN(size[axis], scaled(m, x->shape()[axis], given_scales[i], true));
    }
  }
  AttrMap attrs{{"size", size},           {"scales", scales},
                {"mode", mode},           {"coordinates", coordinates},
                {"rounding", rounding},   {"cubic_a", cubic_a},
                {"antialias", antialias}, {"exclude_outside", exclude}};
  if (coordinates == "tf_crop_and_resize") {
    QC_ASSIGN(Floats region, numbers(m, 1, "roi"));
    if (region.size() != 2 * axes.size())
      return m.fail(Code::attribute, "{} limits for {} axes", region.size(), axes.size());
    Floats roi(2 * rank, 0.0);
    std::fill_n(roi.begin() + static_cast<std::ptrdiff_t>(rank), rank, 1.0);
    for (size_t i = 0; i < axes.size(); ++i) {
      roi[static_cast<size_t>(axes[i])] = region[i];
      roi[rank + static_cast<size_t>(axes[i])] = region[axes.size() + i];
    }
    attrs["roi"] = roi;
    attrs["extrapolation"] = extrapolation;
  }
  return one(onnx_resized(m, x, attrs));
}

// ---- ATen ----

struct Upsampling {
  const char* mode;
  bool antialias = false;
  bool exact = false;
};

/// PyTorch interpolates planes of bytes along the width first, and each pass gives bytes again:
/// halves round up.
Result<Value*> resized_bytes(const Import& m, Value* x, AttrMap attrs) {
  const Dims wanted = std::get<Dims>(attrs["size"]);
  const Floats scales = std::get<Floats>(attrs["scales"]);
  attrs["bytes"] = true;
  QC_ASSIGN(x, m.cast(x, DType::f32));
  for (size_t axis : {size_t{3}, size_t{2}}) {
    Dims size = x->shape();
    if (size[axis] == wanted[axis]) continue;
    size[axis] = wanted[axis];
    attrs["size"] = size;
    Floats one(scales.size(), 1.0);
    one[axis] = scales[axis];
    attrs["scales"] = one;
    QC_ASSIGN(x, m.emit("resize", {x}, attrs));
    QC_ASSIGN(x, m.emit("add", {x, m.scalar(0.5, DType::f32)}));
    QC_ASSIGN(x, m.emit("floor", {x}));
    QC_ASSIGN(x, m.emit("clamp", {x}, {{"lo", 0.0}, {"hi", 255.0}}));
  }
  return m.cast(x, DType::u8);
}

/// upsample_*: over all axes but the first two, to `output_size` or by `scale_factors`.
Result<Values> upsample(const Import& m, const Upsampling& how) {
  QC_ASSIGN(Value * x, m.tensor(m.given("self") ? "self" : "input"));
  QC_ASSIGN(bool corners, m.b("align_corners", false));
  const size_t rank = x->shape().size(), spatial = rank - 2;
  if (rank < 3) return m.fail(Code::shape, "cannot upsample {}", str(x->type()));
  Floats factors;
  if (m.given("scale_factors")) {
    QC_ASSIGN(factors, m.floats("scale_factors", {}));
  } else if (m.given("scales") || m.given("scales_w")) {
    for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"}) {
      if (!m.given(name)) continue;
      QC_ASSIGN(double factor, m.f(name, 0));
      factors.push_back(factor);
    }
  }
  Dims size = x->shape();
  Floats scales(rank, 1.0);
  if (m.given("output_size")) {
    QC_ASSIGN(Dims given, m.dims("output_size"));
    if (given.size() != spatial)
      return m.fail(Code::attribute, "{} sizes for {} axes", given.size(), spatial);
    std::copy(given.begin(), given.end(), size.begin() + 2);
  }
  if (!factors.empty() && factors.size() != spatial) {
    return m.fail(Code::attribute, "{} scales for {} axes", factors.size(), spatial);
  }
  if (factors.empty() && !m.given("output_size"))
    return m.fail(Code::attribute, "neither sizes nor scales are given");
  for (size_t i = 0; i < spatial; ++i) {
    scales[i + 2] = factors.empty() || corners ? 0 : factors[i];
    if (m.given("output_size")) continue;
    QC_ASSIGN(size[i + 2], scaled(m, x->shape()[i + 2], factors[i], false));
  }
  const std::string mode = how.mode;
  std::string coordinates = corners ? "align_corners" : "half_pixel";
  if (mode == "nearest") coordinates = how.exact ? "single_half_pixel" : "single_asymmetric";
  // PyTorch's antialiased kernels take the step between corners, but begin half of it inside.
  if (corners && how.antialias) coordinates = "corners_half_pixel";
  AttrMap attrs{{"size", size}, {"scales", scales}, {"mode", mode}, {"coordinates", coordinates}};
  if (mode == "nearest") attrs["rounding"] = std::string("floor");
  if (how.antialias) {
    attrs["antialias"] = true;
    attrs["exclude_outside"] = true;
    attrs["cubic_a"] = -0.5;
  }
  const bool planes = mode != "nearest" && spatial == 2;
  return one(planes && x->dtype() == DType::u8 ? resized_bytes(m, x, attrs) : resized(m, x, attrs));
}

Result<Values> aten_nearest(Import& m) { return upsample(m, {"nearest"}); }
Result<Values> aten_nearest_exact(Import& m) { return upsample(m, {"nearest", false, true}); }
Result<Values> aten_linear(Import& m) { return upsample(m, {"linear"}); }
Result<Values> aten_cubic(Import& m) { return upsample(m, {"cubic"}); }
Result<Values> aten_linear_aa(Import& m) { return upsample(m, {"linear", true}); }
Result<Values> aten_cubic_aa(Import& m) { return upsample(m, {"cubic", true}); }

constexpr ImportRow kRows[] = {
    {"", "Upsample", onnx_upsample_attributes},
    {"", "Upsample", onnx_resize_scales, 9},
    {"", "Resize", onnx_resize_scales, 10},
    {"", "Resize", onnx_resize, 11},
    {"aten", "upsample_nearest1d.default", aten_nearest},
    {"aten", "upsample_nearest1d.vec", aten_nearest},
    {"aten", "upsample_nearest2d.default", aten_nearest},
    {"aten", "upsample_nearest2d.vec", aten_nearest},
    {"aten", "upsample_nearest3d.default", aten_nearest},
    {"aten", "upsample_nearest3d.vec", aten_nearest},
    {"aten", "_upsample_nearest_exact1d.default", aten_nearest_exact},
    {"aten", "_upsample_nearest_exact1d.vec", aten_nearest_exact},
    {"aten", "_upsample_nearest_exact2d.default", aten_nearest_exact},
    {"aten", "_upsample_nearest_exact2d.vec", aten_nearest_exact},
    {"aten", "_upsample_nearest_exact3d.default", aten_nearest_exact},
    {"aten", "_upsample_nearest_exact3d.vec", aten_nearest_exact},
    {"aten", "upsample_linear1d.default", aten_linear},
    {"aten", "upsample_linear1d.vec", aten_linear},
    {"aten", "upsample_bilinear2d.default", aten_linear},
    {"aten", "upsample_bilinear2d.vec", aten_linear},
    {"aten", "upsample_trilinear3d.default", aten_linear},
    {"aten", "upsample_trilinear3d.vec", aten_linear},
    {"aten", "upsample_bicubic2d.default", aten_cubic},
    {"aten", "upsample_bicubic2d.vec", aten_cubic},
    {"aten", "_upsample_bilinear2d_aa.default", aten_linear_aa},
    {"aten", "_upsample_bilinear2d_aa.vec", aten_linear_aa},
    {"aten", "_upsample_bicubic2d_aa.default", aten_cubic_aa},
    {"aten", "_upsample_bicubic2d_aa.vec", aten_cubic_aa},
};

}  // namespace

void register_resize(Registration& r) {
  r.op<Resize>();
  r.op<QResize>();
  r.imports(kRows);
}

}  // namespace qc
