// Capabilities of ops that add a constant border to operand 0, or can absorb one into their pads.
#pragma once

#include <memory>
#include <optional>

#include "ir/constant.h"
#include "ir/node.h"

namespace qc {

/// The sizes of a border before and after operand 0 along each axis, and its value.
struct Border {
  Dims before, after;
  bool zero = false;    // 0, or of codes the zero point
  bool lowest = false;  // minus infinity, or the lowest integer: it changes no maximum
};

/// An op whose result is operand 0 inside a border.
class AddsBorder {
 public:
  virtual ~AddsBorder() = default;
  /// Nullopt if the border repeats elements of the operand or its value is unknown at compile time.
  virtual std::optional<Border> border(const ConstantPool& pool) const = 0;
};

/// An op with pads of its own.
class TakesBorder {
 public:
  virtual ~TakesBorder() = default;
  /// A node without operands that computes the same from the operand without the border; null if
  /// there is none. Codes stay bit-identical. With floats the sign of a zero may change, and so may
  /// results of weights that are not finite: products with padding are skipped, not added.
  virtual std::unique_ptr<Node> with_border(const Border& border) const = 0;
};

/// An op on each element of operand 0 by itself.
class PreservesZero {
 public:
  virtual ~PreservesZero() = default;
  /// Whether 0, or the zero point, becomes the zero point of the result.
  virtual bool preserves_zero() const = 0;
};

/// `pads` (all begins, then all ends, of the axes from 2 on) plus the sizes of the border. Nullopt
/// if the border extends along axis 0 or 1, or if a size is unknown or large.
std::optional<Ints> pads_with(const Ints& pads, const Border& border);

}  // namespace qc
