#include "quant/arithmetic.h"
#include "tests/random/sampling.h"

namespace qc {

void sample_resize(Samplers& r) {
  r.add("resize", [](Sampling& s) {
    Value* x = s.floats(3, 4);
    Ints size = static_dims(x->shape());
    for (size_t i = 2; i < size.size(); ++i) size[i] = s.between(1, 2 * size[i] + 1);
    static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
    static const std::vector<std::string> kCoordinates = {"half_pixel", "asymmetric",
                                                          "align_corners"};
    s.emit("resize", {x},
           {{"size", size},
            {"mode", s.pick(kModes)},
            {"coordinates", s.pick(kCoordinates)},
            {"antialias", s.chance(15)}});
  });
  r.add("qresize", [](Sampling& s) {
    Value* x = s.codes(1, 4);
    static const std::vector<std::string> kCoordinates = {"half_pixel", "asymmetric",
                                                          "align_corners", "pytorch_half_pixel"};
    // ONNX Runtime's form keeps a format of 8 bits and takes two neighbouring axes of four.
    std::string arithmetic = s.arithmetic();
    const bool ort = x->rank() == 4 && bits(x->dtype()) == 8 && s.chance(40);
    if (parse_arithmetic(arithmetic).value().combine == Arithmetic::Combine::onnxruntime) {
      arithmetic = "exact";
    }
    Ints size = static_dims(x->shape());
    const size_t rank = size.size(), first = ort ? (s.chance(50) ? 1 : 2) : rank > 2 ? rank - 2 : 0;
    for (size_t i = first; i < std::min(first + 2, rank); ++i)
      size[i] = s.between(1, 2 * size[i] + 1);
    s.emit("qresize", {x},
           {{"size", size},
            {"coordinates", s.pick(kCoordinates)},
            {"to", ort ? x->type().quant() : s.format()},
            {"arithmetic", ort ? std::string("onnxruntime") : arithmetic}});
  });
}

}  // namespace qc
