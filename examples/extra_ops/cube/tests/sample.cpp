// How random graphs use the op on codes; the elementwise one needs nothing.
#include "tests/random/sampling.h"

namespace qc {

void sample_cube(Samplers& r) {
  r.add("qcube", [](Sampling& s) {
    s.emit("qcube", {s.codes(0, 4)}, {{"to", s.format()}, {"arithmetic", s.arithmetic()}});
  });
}

}  // namespace qc
