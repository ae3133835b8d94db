#include <string_view>

#include "tests/random/sampling.h"

namespace qc {

void sample_reduce(Samplers& r) {
  for (const char* op : {"qsum", "qmean"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.codes(1, 4);
      s.emit(op, {x},
             {{"to", s.format()}, {"axes", Ints{s.below(x->rank())}}, {"keepdims", s.chance(60)}});
    });
  }
  for (const char* op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_l2", "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp", "reduce_var",
        "reduce_std", "reduce_any", "reduce_all"}) {
    const bool logical =
        std::string_view(op) == "reduce_any" || std::string_view(op) == "reduce_all";
    r.add(op, [op, logical](Sampling& s) {
      Value* x = s.value(logical ? DType::boolean : s.chance(90) ? DType::f32 : DType::i32, 1, 5);
      Ints axes;
      for (int64_t i = 0; i < x->rank(); ++i) {
        if (s.chance(40)) axes.push_back(i);
      }
      if (axes.empty()) axes.push_back(s.below(x->rank()));
      s.emit(op, {x}, {{"axes", axes}, {"keepdims", s.chance(60)}});
    });
  }
}

}  // namespace qc
