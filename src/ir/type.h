// Type: everything a pass may know about a value: element type, logical shape, physical layout and,
// for quantized values, the format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/tensor.h"

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

/// One component of a quantized value besides its codes: its scale or its zero point. Fixed
/// (static, in `values`), or dynamic: computed at run time and handed to readers as a value beside
/// the codes.
struct Component {
  enum class Kind : uint8_t { none, fixed, dynamic };
  Kind kind = Kind::none;
  Tensor values;  // one element, or one per index of the axis, or one per group

  static Component of(Tensor values) { return {Kind::fixed, std::move(values)}; }
  static Component at_run_time() { return {Kind::dynamic, {}}; }
  bool operator==(const Component& other) const {
    return kind == other.kind && (kind != Kind::fixed || values.identical(other.values));
  }
};

/// What the codes of a quantized value mean: a code q of a group with scale s and zero point z
/// stands for (q - z) * s. `Type::dtype` is the type of the codes.
struct Format {
  int64_t qmin = -128, qmax = 127;  // codes in use
  Granularity granularity = Granularity::tensor;
  int64_t axis = 0;
  int64_t group = 0;     // indices of the axis that share a scale
  Component scale;       // f32, or f64 where a model gives more digits
  Component zero_point;  // i32; none: 0

  bool operator==(const Format&) const = default;
  bool is_dynamic() const { return scale.kind == Component::Kind::dynamic; }
  /// The known scale and zero point of index i along the axis, or of group i as quant/groups.h
  /// counts them; 0 for a whole tensor.
  float scale_at(int64_t i = 0) const;
  int32_t zero_at(int64_t i = 0) const;
};

/// The part of a type that quantization decides: type of the codes and what they mean. Without a
/// format it is a plain element type.
struct QType {
  DType dtype = DType::f32;
  std::shared_ptr<const Format> format;

  bool operator==(const QType& other) const;
};

struct Type {
  Dims shape;
  std::shared_ptr<const Format> format;  // null for plain values
  DType dtype = DType::f32;
  Layout layout = Layout::row_major;

  Type();
  Type(DType dtype, Dims shape);
  Type(QType quant, Dims shape);
  Type(const Type&);
  Type(Type&&) noexcept;
  Type& operator=(const Type&);
  Type& operator=(Type&&) noexcept;
  ~Type();

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  QType quant() const { return {dtype, format}; }
  bool operator==(const Type& other) const;
};

/// "f32[1, 3, 8, 8]", with " nhwc" after the shape for channels-last and "q(...)" for a format.
std::string str(const Type& type);
/// "i8 q(-128, 127, scale=0.05, zero=3)".
std::string str(const QType& type);

/// A non-negative axis in [0, rank), or an error when `axis` is out of range.
Result<int64_t> resolve_axis(int64_t axis, int64_t rank, const Loc& loc);
/// NumPy broadcasting of shapes; symbolic dims must be provably equal or one.
Result<Dims> broadcast(const Dims& a, const Dims& b, const Loc& loc);

}  // namespace qc
