// Bug: thrown where quantc finds that it contradicts itself. Commands and the library turn it into
// a diagnostic; nothing else catches it.
#pragma once

#include <stdexcept>

namespace qc {

class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace qc
