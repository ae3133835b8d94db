#include "tests/random/sampling.h"

namespace qc {

void sample_unary(Samplers& r) {
  // The sign of a NaN is not promised, so only inputs, which have none, are asked for it.
  r.add("signbit", [](Sampling& s) {
    static const std::vector<DType> kTypes = {DType::f32, DType::f16, DType::f64};
    const DType dtype = s.pick(kTypes);
    s.emit("signbit", {s.input(dtype, s.shape(s.between(1, 4)))});
  });
}

}  // namespace qc
