#include "tests/random/sampling.h"

namespace qc {

void sample_loop(Samplers& r) {
  r.skip("loop", "its body needs a graph of its own; cases.ir has them");
}

}  // namespace qc
