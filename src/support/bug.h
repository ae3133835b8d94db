// Bug: thrown where quantc finds that it contradicts itself. `within`
// (support/budget.h) turns it into a diagnostic.
#pragma once

#include <stdexcept>

namespace qc {

class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace qc
