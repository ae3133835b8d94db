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
    s.emit("bit_cast", {s.value(from, 0, 3)}, {{"to", to}});
  });
}

}  // namespace qc
