#include <algorithm>

#include "ir/relations.h"
#include "kernels/numerics/index.h"
#include "kernels/numerics/roi.h"
#include "kernels/roi_align/calls.h"
#include "ops/common/index.h"
#include "ops/common/registration.h"
#include "support/budget.h"

namespace qc {

/// Regions (operand 1: x1, y1, x2, y2) of the images operand 2 names, pooled to rows by columns.
class RoiAlign final : public OpNode<RoiAlign> {
 public:
  static const OpInfo kInfo;
  int64_t rows = 1, columns = 1, ratio = 0;
  double scale = 1;
  bool half_pixel = true, largest = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("rows", rows);
    v("columns", columns);
    v("ratio", ratio, int64_t{0});
    v("scale", scale, 1.0);
    v("half_pixel", half_pixel, true);
    v("largest", largest, false);
  }
  Result<std::vector<Type>> infer() const override {
    const Type &x = input_type(0), &rois = input_type(1), &image = input_type(2);
    if (x.rank() != 4 || rois.rank() != 2 || image.rank() != 1 || !(rois.shape[1] == Dim(4))) {
      return error(Code::shape, loc(), "regions {} of images {} in {}", str(rois), str(image),
                   str(x));
    }
    const Dim &a = rois.shape[0], &b = image.shape[0];
    if (differ(a, b)) {
      return error(Code::shape, loc(), "{} regions but {} images", a.str(), b.str());
    }
    if (x.dtype != DType::f32 || rois.dtype != DType::f32 || image.dtype != DType::i64) {
      return error(Code::type, loc(), "regions {} of images {} in {}", str(rois), str(image),
                   str(x));
    }
    if (rows < 1 || columns < 1 || rows > 65536 || columns > 65536 || ratio < 0 || ratio > 1024) {
      return error(Code::attribute, loc(), "{} by {} cells of {} samples", rows, columns, ratio);
    }
    for (size_t i : {size_t{0}, size_t{2}, size_t{3}})
      QC_TRY(check_pick(x.shape[i], rois.shape, loc()));
    return std::vector<Type>{Type(x.dtype, {a, x.shape[1], Dim(rows), Dim(columns)})};
  }
  /// Steps for one element of the region: about ten for each sample.
  int64_t samples_of(const float* roi) const {
    auto along = [&](float from, float to, int64_t cells) {
      const float size = qn_max_f32((to - from) * static_cast<float>(scale), 1.0f);
      return int64_t{qn_roi_samples(static_cast<int32_t>(ratio), size / static_cast<float>(cells))};
    };
    return 10 * along(roi[1], roi[3], rows) * along(roi[0], roi[2], columns);
  }
  Result<Ok> eval(EvalContext& c) const override {
    const Tensor &x = c.in(0), &rois = c.in(1), &image = c.in(2);
    QC_TRY(param(x.size(), loc()));
    const int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
    for (int64_t i = 0; i < c.out(0).size(); ++i) {
      const int64_t column = i % columns, row = i / columns % rows, cell = i / (columns * rows);
      const int64_t r = cell / channels, n = qn_index(image.as_int(r), x.shape()[0]);
      const int64_t plane = n * channels + cell % channels;
      spend(Cost::work, samples_of(rois.data<float>() + 4 * r));
      c.out(0).mutable_data<float>()[i] = qn_roi_align_f32(
          x.data<float>() + plane * height * width, static_cast<int32_t>(height),
          static_cast<int32_t>(width), rois.data<float>() + 4 * r, static_cast<float>(scale),
          half_pixel, static_cast<int32_t>(ratio), largest, static_cast<int32_t>(rows),
          static_cast<int32_t>(columns), static_cast<int32_t>(row), static_cast<int32_t>(column));
    }
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    const Dims x = l.in_dims(0), y = l.out_dims();
    if (count(y) == 0) return Ok{};
    for (const Dims& dims : {x, y}) QC_TRY(l.param(count(dims)));
    kernel::RoiAlign c;
    c.batch = x[0];
    c.channels = x[1];
    c.height = x[2];
    c.width = x[3];
    c.regions = y[0];
    c.rows = rows;
    c.columns = columns;
    c.ratio = ratio;
    c.half_pixel = half_pixel;
    c.largest = largest;
    c.scale = static_cast<float>(scale);
    c.x = l.in(0);
    c.rois = l.in(1);
    c.images = l.in(2);
    c.y = l.out();
    l.emit(c);
    return Ok{};
  }
};

const OpInfo RoiAlign::kInfo = {
    .name = "roi_align",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "pools regions of images to a fixed size",
};

namespace {

Result<Values> onnx_roi_align(Import& m) {
  for (size_t i = 0; i < 3; ++i) {
    if (!m.has(i)) return m.fail(Code::graph, "operand {} is missing", i);
  }
  QC_ASSIGN(int64_t rows, m.i("output_height", 1));
  QC_ASSIGN(int64_t columns, m.i("output_width", 1));
  QC_ASSIGN(int64_t ratio, m.i("sampling_ratio", 0));
  QC_ASSIGN(double scale, m.f("spatial_scale", 1));
  QC_ASSIGN(std::string mode, m.s("mode", "avg"));
  // Before version 16 regions were not shifted by half an element.
  QC_ASSIGN(std::string where, m.s("coordinate_transformation_mode",
                                   m.version() >= 16 ? "half_pixel" : "output_half_pixel"));
  const DType dtype = m.in(0)->dtype();
  if (dtype == DType::f64) {
    return m.fail(Code::unsupported,
                  "regions of f64 values; positions and weights are f32: convert them to f32");
  }
  QC_ASSIGN(Value * x, m.cast(m.in(0), DType::f32));
  QC_ASSIGN(Value * rois, m.cast(m.in(1), DType::f32));
  QC_ASSIGN(Value * image, m.cast(m.in(2), DType::i64));
  QC_ASSIGN(Value * y, m.emit("roi_align", {x, rois, image},
                              {{"rows", rows},
                               {"columns", columns},
                               {"ratio", ratio},
                               {"scale", scale},
                               {"half_pixel", where == "half_pixel"},
                               {"largest", mode == "max"}}));
  QC_ASSIGN(y, m.cast(y, dtype));
  return Values{y};
}

constexpr ImportRow kRows[] = {{"", "RoiAlign", onnx_roi_align}};

}  // namespace

void register_roi_align(Registration& r) {
  r.op<RoiAlign>();
  r.imports(kRows);
}

}  // namespace qc
