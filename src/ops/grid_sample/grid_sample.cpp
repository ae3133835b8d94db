#include <algorithm>
#include <cmath>

#include "ir/relations.h"
#include "kernels/grid_sample/calls.h"
#include "kernels/numerics/sample.h"
#include "ops/common/index.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"

namespace qc {

/// Operand 0 [n, c, d...] sampled at the points of operand 1 [n, out..., axes], in [-1, 1], x
/// first.
class GridSample final : public OpNode<GridSample> {
 public:
  static const OpInfo kInfo;
  std::string mode = "linear";    // nearest, linear, cubic
  std::string outside = "zeros";  // zeros, border, reflection
  bool align_corners = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("mode", mode, std::string("linear"));
    v("outside", outside, std::string("zeros"));
    v("align_corners", align_corners, false);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// What evaluation and kernel know of the image and the points.
  template <class Params>
  void fill(Params& p, const Ints& x, const Ints& grid) const;
};

const OpInfo GridSample::kInfo = {
    .name = "grid_sample",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kQuantizedInFloat,
    .summary = "samples an image at computed points",
};

namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kOutside[] = {"zeros", "border", "reflection"};

int32_t position(std::span<const std::string_view> list, const std::string& word) {
  return static_cast<int32_t>(std::find(list.begin(), list.end(), word) - list.begin());
}

}  // namespace

Result<std::vector<Type>> GridSample::infer() const {
  const Type &x = input_type(0), &grid = input_type(1);
  if (position(kModes, mode) == 3 || position(kOutside, outside) == 3) {
    return error(Code::attribute, loc(), "mode '{}', outside '{}'", mode, outside);
  }
  const int64_t axes = x.rank() - 2;
  const bool ranks = axes >= 1 && axes <= 3 && grid.rank() == x.rank();
  if (!ranks || differ(grid.shape.back(), axes)) {
    return error(Code::shape, loc(), "points {} do not fit {}", str(grid), str(x));
  }
  if (differ(x.shape[0], grid.shape[0])) {
    return error(Code::shape, loc(), "points {} do not fit {}", str(grid), str(x));
  }
  if (x.dtype != DType::f32 || grid.dtype != DType::f32) {
    return error(Code::type, loc(), "samples {} at {}, expected f32", str(x), str(grid));
  }
  Type y(x.dtype, {x.shape[0], x.shape[1]});
  y.shape.insert(y.shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return std::vector<Type>{y};
}

template <class Params>
void GridSample::fill(Params& p, const Ints& x, const Ints& grid) const {
  p.batch = static_cast<int32_t>(x[0]);
  p.channels = static_cast<int32_t>(x[1]);
  p.points = static_cast<int32_t>(extent(grid, 1, grid.size() - 1));
  p.axes = static_cast<int32_t>(x.size() - 2);
  p.mode = position(kModes, mode);
  p.outside = position(kOutside, outside);
  p.corners = align_corners;
  std::fill_n(p.size, 3, 1);
  for (size_t i = 2; i < x.size(); ++i) p.size[i + 3 - x.size()] = static_cast<int32_t>(x[i]);
}

Result<Ok> GridSample::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &grid = c.in(1);
  QC_TRY(param(std::max(x.size(), c.out(0).size()), loc()));
  struct {
    int32_t batch, channels, points, axes, mode, outside, corners, size[3];
  } p;
  fill(p, x.shape(), grid.shape());
  const int64_t plane = int64_t{p.size[0]} * p.size[1] * p.size[2], points = p.points;
  float* y = c.out(0).mutable_data<float>();
  for (int64_t i = 0; i < c.out(0).size(); ++i) {
    const int64_t at = i % points, image = i / points, n = image / p.channels;
    int32_t index[3][4] = {{0}};
    float weight[3][4] = {{1}, {1}, {1}};
    int taps[3] = {1, 1, 1};
    for (int d = 0; d < p.axes; ++d) {
      const float g = grid.data<float>()[(n * points + at) * p.axes + d];
      taps[2 - d] =
          qn_sample(g, p.size[2 - d], p.mode, p.outside, p.corners, index[2 - d], weight[2 - d]);
    }
    float sum = qn_sample_start(weight[0][0], weight[1][0], weight[2][0]);
    for (int t = 0; t < taps[0] * taps[1] * taps[2]; ++t) {
      const int a = t / (taps[1] * taps[2]), b = t / taps[2] % taps[1], k = t % taps[2];
      if (index[0][a] < 0 || index[1][b] < 0 || index[2][k] < 0) continue;
      const int64_t from =
          (int64_t{index[0][a]} * p.size[1] + index[1][b]) * p.size[2] + index[2][k];
      const float w = qn_mulf(qn_mulf(weight[0][a], weight[1][b]), weight[2][k]);
      sum = qn_fmaf(w, x.data<float>()[image * plane + from], sum);
    }
    y[i] = sum;
  }
  return Ok{};
}

Result<Ok> GridSample::lower(Lowering& l) const {
  QC_TRY(l.need_numbers());
  if (count(l.out_dims()) == 0) return Ok{};
  for (const Dims& dims : {l.in_dims(0), l.in_dims(1), l.out_dims()}) QC_TRY(l.param(count(dims)));
  kernel::GridSample c;
  fill(c, static_dims(l.in_dims(0)), static_dims(l.in_dims(1)));
  c.x = l.in(0);
  c.grid = l.in(1);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

namespace {

Result<Values> sampled(const Import& m, Value* x, Value* grid, std::string mode,
                       std::string outside, bool corners) {
  const DType dtype = x->dtype();
  if (dtype == DType::f64) {
    return m.fail(Code::unsupported,
                  "sampling of f64 values; positions and weights are f32: convert them to f32");
  }
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  QC_ASSIGN(x, m.cast(x, DType::f32));
  QC_ASSIGN(grid, m.cast(grid, DType::f32));
  QC_ASSIGN(Value * y, m.emit("grid_sample", {x, grid},
                              {{"mode", mode}, {"outside", outside}, {"align_corners", corners}}));
  QC_ASSIGN(y, m.cast(y, dtype));
  return Values{y};
}

Result<Values> onnx_grid_sample(Import& m) {
  QC_ASSIGN(std::string mode, m.s("mode", "linear"));
  QC_ASSIGN(std::string outside, m.s("padding_mode", "zeros"));
  QC_ASSIGN(bool corners, m.b("align_corners", false));
  return sampled(m, m.in(0), m.in(1), mode, outside, corners);
}

Result<Values> aten_grid_sampler(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * grid, m.tensor("grid"));
  QC_ASSIGN(int64_t mode, m.i("interpolation_mode", 0));
  QC_ASSIGN(int64_t outside, m.i("padding_mode", 0));
  QC_ASSIGN(bool corners, m.b("align_corners", false));
  if (mode < 0 || mode > 2 || outside < 0 || outside > 2) {
    return m.fail(Code::attribute, "interpolation {} and padding {}", mode, outside);
  }
  constexpr const char* modes[] = {"linear", "nearest", "cubic"};
  return sampled(m, x, grid, modes[mode], std::string(kOutside[static_cast<size_t>(outside)]),
                 corners);
}

/// Points of a regular grid, moved by a matrix per image: a product with constant coordinates.
Result<Values> affine_grid(const Import& m, Value* theta, const Ints& size, bool corners) {
  const size_t axes = size.size() >= 2 ? size.size() - 2 : 0;
  if (axes < 1 || axes > 3 || theta->rank() != 3)
    return m.fail(Code::shape, "a grid of {} axes", axes);
  Ints sizes(size.begin() + 2, size.end());
  for (int64_t s : sizes) {
    if (s <= 0 || s > 65536) return m.fail(Code::attribute, "a grid of size {}", s);
  }
  const int64_t points = count(sizes);
  const Ints strides = strides_of(sizes);
  const DType dtype = theta->dtype(), computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  QC_TRY(checked_bytes(computed, Ints{points, static_cast<int64_t>(axes) + 1}));
  if (points > (1 << 26)) return m.fail(Code::limit, "a grid of {} points", points);
  Tensor base(computed, {1, points, static_cast<int64_t>(axes) + 1});
  int64_t at = 0;
  for (int64_t p = 0; p < points; ++p) {
    for (size_t d = 0; d < axes; ++d) {
      const size_t axis = axes - 1 - d;
      const double n = static_cast<double>(sizes[axis]),
                   i = static_cast<double>(p / strides[axis] % sizes[axis]);
      const double on_corners = sizes[axis] == 1 ? 0 : 2 * i / (n - 1) - 1;
      base.set_double(at++, corners ? on_corners : (2 * i + 1) / n - 1);
    }
    base.set_double(at++, 1);
  }
  QC_ASSIGN(theta, m.cast(theta, computed));
  QC_ASSIGN(Value * transposed, m.emit("transpose", {theta}, {{"perm", Ints{0, 2, 1}}}));
  QC_ASSIGN(Value * grid, m.emit("matmul", {m.graph().constant(std::move(base)), transposed}));
  Dims shape{theta->shape()[0]};
  for (int64_t s : sizes) shape.push_back(Dim(s));
  shape.push_back(Dim(static_cast<int64_t>(axes)));
  QC_ASSIGN(grid, reshaped(m, grid, shape));
  QC_ASSIGN(grid, m.cast(grid, dtype));
  return Values{grid};
}

Result<Values> onnx_affine_grid(Import& m) {
  QC_ASSIGN(Ints size, m.known_static(m.in(1), "the size"));
  QC_ASSIGN(bool corners, m.b("align_corners", false));
  return affine_grid(m, m.in(0), size, corners);
}

Result<Values> aten_affine_grid(Import& m) {
  QC_ASSIGN(Value * theta, m.tensor("theta"));
  QC_ASSIGN(Ints size, m.ints("size", {}));
  QC_ASSIGN(bool corners, m.b("align_corners", false));
  return affine_grid(m, theta, size, corners);
}

constexpr ImportRow kRows[] = {
    {"", "GridSample", onnx_grid_sample},
    {"", "AffineGrid", onnx_affine_grid},
    {"aten", "grid_sampler.default", aten_grid_sampler},
    {"aten", "grid_sampler_2d.default", aten_grid_sampler},
    {"aten", "grid_sampler_3d.default", aten_grid_sampler},
    {"aten", "affine_grid_generator.default", aten_affine_grid},
};

}  // namespace

void register_grid_sample(Registration& r) {
  r.op<GridSample>();
  r.imports(kRows);
}

}  // namespace qc
