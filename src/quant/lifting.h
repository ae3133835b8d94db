// Lifting: what ops tell the pass lift_quantize, so that a quantize node can move up past ops that
// only move elements and codes are moved instead of floats.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/node.h"

namespace qc {

/// An op that turns f32 values, operand 0, into codes, result 0. Scales and zero points that it
/// finds at run time are its further results, of the shape `scale_shape` says.
class MakesCodes {
 public:
  virtual ~MakesCodes() = default;
  /// What decides the codes of given values, as text: equal texts of one op, equal codes.
  virtual std::string parameters() const = 0;
  /// A node of this op, without operands, whose scales lie as `format` says. An op that finds its
  /// scales may return a plain copy: it is used only where the format it infers is that one.
  virtual std::unique_ptr<Node> with_scales(const Format& format) const = 0;
};

/// How scales lie over a value, or why they cannot.
struct Laid {
  std::optional<Format> format;
  std::string_view why;
};

/// An op whose one result consists of elements of its operands, all f32 or codes, and of nothing
/// else: moving codes gives the codes of what is moved.
class MovesScales {
 public:
  virtual ~MovesScales() = default;
  /// How many of its operands, from the first on, are moved; others say where to.
  virtual size_t moved_operands() const { return SIZE_MAX; }
  /// The format that codes of operand i need so that the codes of the result have `result`: every
  /// element keeps its scale, and scales that are found at run time are found from the same
  /// elements.
  virtual Laid laid_over(size_t i, const Format& result) const = 0;
  /// A node, without operands, that makes the scales found at run time for `result` out of those of
  /// the operands; null where those of operand 0 are they.
  virtual std::unique_ptr<Node> scale_mover(const Format& result) const = 0;
};

/// The shape of scales that lie over a value of this shape.
Dims scale_shape(const Format& format, const Dims& shape);

/// Reasons why scales cannot lie over an operand.
inline constexpr std::string_view kOtherElements =
    "its scale would be found from other elements than before";
inline constexpr std::string_view kKnownForSlice = "its scales are known for this part only";
inline constexpr std::string_view kTornApart =
    "elements that share a scale would no longer lie together";

/// Scales over a value of shape `result` as they lie over the same elements, in the same order,
/// under the shape `operand`.
Laid reshaped_scales(const Format& format, const Dims& result, const Dims& operand);
/// Axis i of the result is axis perm[i] of the operand.
Format transposed_scales(const Format& format, const Dims& result, const Ints& perm);
/// Static scales of `count` indices of the axis, from `first` on.
Format scales_from(const Format& format, int64_t first, int64_t count);
/// One static scale and zero point where those of all indices of the axis are the same; else, and
/// for other formats, the format itself.
Format one_where_equal(const Format& format);
/// Static scales along an axis of `operand` as they lie over the same elements under the shape
/// `result`, where that has the axis, or has it split and the indices of each part share a scale.
std::optional<Format> split_scales(const Format& format, const Dims& operand, const Dims& result);

}  // namespace qc
