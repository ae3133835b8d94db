// A capability of ops that can write their result in another layout than their operand has.
#pragma once

#include "ir/type.h"

namespace qc {

class WritesLayout {
 public:
  virtual ~WritesLayout() = default;
  /// Whether the result may lie in another layout than operand 0, as the types are now.
  virtual bool can_write_layout() const = 0;
  /// From now on the result has this layout; types are to be inferred again.
  virtual void write_layout(Layout layout) = 0;
};

}  // namespace qc
