#include "tests/random/sampling.h"

namespace qc {

void sample_binary(Samplers& r) {
  // The sign of a NaN is not promised, so only an input, which has none, gives its sign.
  r.add("copysign", [](Sampling& s) {
    static const std::vector<DType> kTypes = {DType::f32, DType::f16, DType::bf16, DType::f64};
    const DType dtype = s.pick(kTypes);
    Value* x = s.value(dtype, 0, 4);
    s.emit("copysign", {x, s.input(dtype, static_dims(x->shape()))});
  });
  for (const char* op : {"qadd", "qsub", "qmul"}) {
    r.add(op, [op](Sampling& s) {
      Value* a = s.codes(0, 4);
      Value* b = s.chance(30) ? a : s.codes(0, 4);
      if (!(a->shape() == b->shape()) && s.chance(80)) {
        Ints shape = static_dims(a->shape());
        for (int64_t& d : shape) d = s.chance(40) ? 1 : d;
        b = s.emit("quantize", {s.input(DType::f32, shape)}, {{"to", s.format()}});
      }
      if (s.chance(40)) std::swap(a, b);
      const QType to = s.format();
      AttrMap attrs{{"to", to}, {"arithmetic", s.arithmetic()}};
      if (s.chance(30)) attrs["lo"] = int64_t{to.format->zero_at()};
      s.emit(op, {a, b}, attrs);
    });
  }
}

}  // namespace qc
