#include "tests/random/sampling.h"

namespace qc {

void sample_cast(Samplers& r) {
  r.add("cast", [](Sampling& s) {
    static const std::vector<DType> kTo = {DType::f32,  DType::f32,     DType::f64, DType::f16,
                                           DType::bf16, DType::i8,      DType::i32, DType::i64,
                                           DType::u8,   DType::boolean, DType::i16, DType::f8e4m3};
    if (s.values().empty()) return;
    s.emit("cast", {s.pick(s.values())}, {{"to", s.pick(kTo)}});
  });
  r.add("bit_cast", [](Sampling& s) {
    static const std::vector<std::pair<DType, DType>> kPairs = {
        {DType::f32, DType::i32}, {DType::i8, DType::u8}, {DType::u8, DType::i8}};
    const auto& [from, to] = s.pick(kPairs);
    // Not of computed floats: the sign of a NaN is not promised.
    Value* x = is_float(from) ? s.input(from, s.shape(s.between(0, 3))) : s.value(from, 0, 3);
    s.emit("bit_cast", {x}, {{"to", to}});
  });
  r.add("bit_view", [](Sampling& s) {
    static const std::vector<DType> kTo = {DType::i8, DType::u8, DType::i16, DType::i64};
    s.emit("bit_view", {s.input(DType::i32, {s.between(1, 3), 2 * s.between(1, 4)})},
           {{"to", s.pick(kTo)}});
  });
}

}  // namespace qc
