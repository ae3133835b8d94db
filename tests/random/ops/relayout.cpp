#include "tests/random/sampling.h"

namespace qc {

void sample_relayout(Samplers& r) { r.skip("relayout", "made by assign_layouts only"); }

}  // namespace qc
