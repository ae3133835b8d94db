// Capabilities of ops whose result can lie in another layout than their operand.
#pragma once

#include <memory>

#include "ir/node.h"

namespace qc {

/// An op that does something else, and can write its result in another layout meanwhile.
class WritesLayout {
 public:
  virtual ~WritesLayout() = default;
  /// Whether the result may lie in another layout than operand 0, as the types are now.
  virtual bool can_write_layout() const = 0;
  /// From now on the result has this layout; types are to be inferred again.
  virtual void write_layout(Layout layout) = 0;
};

/// An op whose result is operand 0 in another layout.
class IsRelayout {
 public:
  virtual ~IsRelayout() = default;
  /// A node without operands that, of the same channels-last operand, makes the row-major value
  /// whose bytes lie as the operand's do: the channels become the last axis.
  virtual Result<std::unique_ptr<Node>> with_channels_at_the_end() const = 0;
};

}  // namespace qc
