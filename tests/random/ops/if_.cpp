#include "tests/random/sampling.h"

namespace qc {

void sample_if_(Samplers& r) {
  r.skip("if", "its bodies need graphs of their own; cases.ir has them");
}

}  // namespace qc
