// Ops that convert elements.
#pragma once

namespace qc {

/// An op whose result is operand 0, each element converted to the type of the result.
class ConvertsType {
 public:
  virtual ~ConvertsType() = default;
};

}  // namespace qc
