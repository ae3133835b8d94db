// Capabilities of borders: borders of one constant that an op can put around its operand by itself.
#pragma once

#include <memory>
#include <optional>

#include "ir/constant.h"
#include "ir/node.h"

namespace qc {

/// How many elements are added before and after operand 0 along each axis, and what they are.
struct Border {
  Dims before, after;
  bool zero = false;    // 0, or of codes the zero point
  bool lowest = false;  // minus infinity, or the lowest integer: it changes no maximum
};

/// An op whose result is operand 0 inside a border.
class AddsBorder {
 public:
  virtual ~AddsBorder() = default;
  /// The border; nullopt where it shows elements of the operand or a value not known now.
  virtual std::optional<Border> border(const ConstantPool& pool) const = 0;
};

/// An op with pads of its own.
class TakesBorder {
 public:
  virtual ~TakesBorder() = default;
  /// A node without operands that, of the operand without the border, makes what this node makes of
  /// the operand inside it; null where it cannot. Bits stay the same where operand 0 is codes. Of
  /// floats the sign of a zero may change, and what meets weights that are not finite: a product
  /// with padding is left out, not added.
  virtual std::unique_ptr<Node> with_border(const Border& border) const = 0;
};

/// An op on each element of operand 0 by itself.
class PreservesZero {
 public:
  virtual ~PreservesZero() = default;
  /// Whether 0, or the zero point, becomes the zero point of the result.
  virtual bool preserves_zero() const = 0;
};

/// `pads`, all begins and then all ends of the axes from 2 on, with the border's added. Nullopt
/// where the border surrounds another axis or its sizes are not known or not small.
std::optional<Ints> pads_with(const Ints& pads, const Border& border);

}  // namespace qc
