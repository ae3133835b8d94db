// HasRemark: the capability of a quantized node to say what its user should know.
#pragma once

#include <string>

namespace qc {

class HasRemark {
 public:
  virtual ~HasRemark() = default;
  /// One line; empty for nothing to say.
  virtual std::string remark() const = 0;
};

}  // namespace qc
