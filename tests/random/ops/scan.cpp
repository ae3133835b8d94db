#include "tests/random/sampling.h"

namespace qc {

void sample_scan(Samplers& r) {
  for (const char* op : {"cumsum", "cumprod"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.chance(80) ? s.floats(1, 4) : s.value(DType::i64, 1, 3);
      s.emit(
          op, {x},
          {{"axis", s.below(x->rank())}, {"exclusive", s.chance(30)}, {"reverse", s.chance(30)}});
    });
  }
  for (const char* op : {"cummax", "cummin"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      s.emit(op, {x}, {{"axis", s.below(x->rank())}});
    });
  }
}

}  // namespace qc
