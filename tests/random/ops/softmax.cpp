#include "tests/random/sampling.h"

namespace qc {

void sample_softmax(Samplers& r) {
  r.add("qsoftmax", [](Sampling& s) {
    Value* x = s.codes(1, 4);
    QType to = s.format();
    for (int tries = 0; to.dtype != x->dtype() && tries < 20; ++tries) to = s.format();
    s.emit("qsoftmax", {x},
           {{"to", to}, {"arithmetic", std::string("onnxruntime")}, {"axis", s.below(x->rank())}});
  });
  for (bool dynamic : {false, true}) {
    const char* op = dynamic ? "softmax_quantize_dynamic" : "softmax_quantize";
    r.add(op, [op, dynamic](Sampling& s) {
      Value* x = s.floats(1, 4);
      s.emit(op, {x}, s.epilogue(dynamic, {{"axis", s.below(x->rank())}}));
    });
  }
  for (const char* op : {"softmax", "log_softmax"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      s.emit(op, {x}, {{"axis", s.below(x->rank())}});
    });
  }
}

}  // namespace qc
