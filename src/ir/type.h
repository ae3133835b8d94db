// Type: everything a pass may know about a value: element type, logical shape, physical layout and,
// for quantized values, the format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"

namespace qc {

using ConstId = uint32_t;

/// How the elements of a value lie in memory. Shapes stay logical (NCHW) whatever the layout;
/// layouts are assigned while lowering, so every graph before that is row-major throughout.
enum class Layout : uint8_t {
  row_major,
  channels_last,  // logical [N, C, d...] stored as [N, d..., C]
};

/// How many elements share one scale.
enum class Granularity : uint8_t { tensor, axis, group };

/// One component of a quantized value besides its codes: a scale, zero point or global scale. It is
/// either known now (`constant`) or carried beside the codes at run time.
struct Component {
  std::string role;  // "scale", "zero_point", "global_scale"
  DType dtype = DType::f32;
  bool is_static = true;
  ConstId constant = 0;

  bool operator==(const Component&) const = default;
};

/// What the codes of a quantized value mean. `Type::dtype` is the type of the codes.
struct Format {
  int64_t qmin = -128, qmax = 127;
  Granularity granularity = Granularity::tensor;
  int64_t axis = 0;
  int64_t group = 0;
  std::string arithmetic = "exact";
  std::vector<Component> components;

  bool operator==(const Format&) const = default;
};

struct Type {
  DType dtype = DType::f32;
  Dims shape;
  Layout layout = Layout::row_major;
  std::shared_ptr<const Format> format;  // null for plain values

  Type() = default;
  Type(DType d, Dims s) : dtype(d), shape(std::move(s)) {}

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool operator==(const Type& other) const;
};

/// "f32[1, 3, 8, 8]", with " nhwc" after the shape for channels-last and "q(...)" for a format.
std::string str(const Type& type);

/// A non-negative axis in [0, rank), or an error when `axis` is out of range.
Result<int64_t> resolve_axis(int64_t axis, int64_t rank, const Loc& loc);
/// NumPy broadcasting of shapes; symbolic dims must be provably equal or one.
Result<Dims> broadcast(const Dims& a, const Dims& b, const Loc& loc);

}  // namespace qc
