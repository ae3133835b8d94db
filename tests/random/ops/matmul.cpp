#include "tests/random/products.h"
#include "tests/random/sampling.h"

namespace qc {

void sample_matmul(Samplers& r) {
  r.add("linear", [](Sampling& s) {
    const DType dtype = s.arithmetic_type();
    Value* x = s.value(dtype, 1, 4);
    const int64_t k = x->shape().back().value(), n = s.size();
    const int64_t lowest = is_signed(dtype) ? -3 : 0;
    std::vector<Value*> inputs{x, s.constant(dtype, {n, k}, lowest)};
    if (s.chance(60)) inputs.push_back(s.constant(dtype, {n}, lowest));
    AttrMap attrs;
    if (is_float(dtype) && s.chance(30)) attrs["lo"] = 0.0;
    Value* y = s.emit("linear", inputs, attrs);
    if (y && s.chance(30)) s.emit("clamp", {y}, {{"lo", -1.0}, {"hi", 2.0}});
  });
  r.add("qlinear", [](Sampling& s) {
    Value* x = s.codes(1, 4);
    const int64_t n = s.size();
    if (s.chance(25)) {  // codes of weights alone
      Value* f = s.floats(1, 3);
      s.emit("qlinear", {f, sample_weights(s, {n, f->shape().back().value()}, 0)},
             {{"to", QType{}}});
      return;
    }
    if (s.chance(25)) {  // scales known at run time
      Value* f = s.floats(1, 3);
      Value* w = sample_weights(s, {n, f->shape().back().value()}, 0);
      Value* codes =
          s.emit("quantize_dynamic", {f}, {{"to", DType::u8}, {"per_token", s.chance(50)}});
      if (!codes) return;
      Value* bias = s.chance(50) ? s.constant(DType::f32, {n}) : nullptr;
      Node* q = codes->def();
      s.emit("qlinear", {codes, w, bias, q->output(1), q->output(2)}, {{"to", QType{}}});
      return;
    }
    sample_accumulators(s, "qlinear", x, {n, x->shape().back().value()}, 0, n, {});
  });
  r.add("qmatmul", [](Sampling& s) {
    Value* a = s.codes(2, 4);
    const int64_t k = a->shape().back().value();
    const bool rows = s.chance(50);
    Ints shape = rows ? Ints{s.size(), k} : Ints{k, s.size()};
    if (a->rank() > 2 && s.chance(50))
      shape.insert(shape.begin(), static_dims(a->shape()).end()[-3]);
    Value* b = s.emit("quantize", {s.input(DType::f32, shape)}, {{"to", s.format()}});
    if (!b) return;
    s.emit("qmatmul", {a, b},
           {{"transpose_b", rows},
            {"to", s.chance(80)   ? s.format()
                   : s.chance(50) ? QType{}
                                  : QType{DType::i32, nullptr}},
            {"arithmetic", s.arithmetic()}});
  });
  r.add("matmul", [](Sampling& s) {
    const DType dtype = s.arithmetic_type();
    Value* a = s.value(dtype, 2, 4);
    const int64_t k = a->shape().back().value();
    Value* b = s.find([&](const Value& v) {
      return v.dtype() == dtype && v.rank() == 2 && v.shape()[0] == Dim(k);
    });
    if (!b || s.chance(50)) b = s.constant(dtype, {k, s.size()}, is_signed(dtype) ? -3 : 0);
    s.emit("matmul", {a, b});
  });
  r.add("grouped_matmul", [](Sampling& s) {
    Value* x = s.floats(2, 2);
    const int64_t rows = x->shape()[0].value(), k = x->shape()[1].value();
    const Ints ends{rows / 2, rows};
    Value* offsets = s.graph().constant(Tensor::of<int64_t>(DType::i64, {2}, ends));
    s.emit("grouped_matmul", {x, s.constant(DType::f32, {2, k, s.between(1, 7)}), offsets});
  });
  r.add("qgrouped_matmul", [](Sampling& s) {
    Value* x = s.floats(2, 2);
    const int64_t rows = x->shape()[0].value(), k = x->shape()[1].value(), n = s.between(1, 40);
    const Ints ends{rows / 3, rows / 2, rows - (rows > 1 && s.chance(30) ? 1 : 0)};
    Value* offsets = s.graph().constant(Tensor::of<int64_t>(DType::i64, {3}, ends));
    Value* w = sample_weights(s, {3, k, n}, 2);
    const bool dynamic = s.chance(60);
    Value* codes =
        dynamic
            ? s.emit("quantize_dynamic", {x},
                     {{"to", s.chance(50) ? DType::u8 : DType::i8}, {"per_token", s.chance(50)}})
            : s.emit("quantize", {x}, {{"to", tensor_format(DType::i8, 0.02f, 3)}});
    if (!codes) return;
    std::vector<Value*> inputs{codes, w, offsets};
    if (dynamic) inputs.insert(inputs.end(), {codes->def()->output(1), codes->def()->output(2)});
    s.emit("qgrouped_matmul", inputs, {{"to", dynamic || s.chance(50) ? QType{} : s.format()}});
  });
}

}  // namespace qc
