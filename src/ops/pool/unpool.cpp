#include "kernels/c/pool/unpool.h"

#include <cstring>

#include "interp/eval.h"
#include "ops/pool/pool.h"
#include "program/lowering.h"

namespace qc {

const OpInfo MaxUnpool::kInfo = {
    .name = "max_unpool",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kQuantizedInFloat,
    .summary = "elements put back to the places a max pool took them from, zeros elsewhere",
};

Result<std::vector<Type>> MaxUnpool::infer() const {
  const Type &x = input_type(0), &places = input_type(1);
  if (x.rank() < 3 || places.dtype != DType::i64 || places.shape != x.shape ||
      static_cast<int64_t>(size.size()) != x.rank() - 2) {
    return error(Code::shape, loc(), "unpool of {} with places {} to {}", str(x), str(places),
                 str(size));
  }
  Type y = x;
  y.shape.resize(2);
  y.shape.insert(y.shape.end(), size.begin(), size.end());
  return std::vector<Type>{y};
}

Result<Ok> MaxUnpool::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &places = c.in(1);
  Tensor& y = c.out(0);
  const size_t width = bytes(x.dtype());
  const int64_t planes = x.shape()[0] * x.shape()[1];
  const int64_t from = planes ? x.size() / planes : 0, to = planes ? y.size() / planes : 0;
  std::byte* out = y.mutable_bytes().data();
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t place = places.data<int64_t>()[i];
    if (place < 0 || place >= to) continue;
    std::memcpy(out + static_cast<size_t>(i / from * to + place) * width,
                x.bytes().data() + static_cast<size_t>(i) * width, width);
  }
  return Ok{};
}

Result<Ok> MaxUnpool::lower(Lowering& l) const {
  const Ints x = static_dims(l.in_type(0).shape), y = static_dims(l.out_type().shape);
  int64_t from = 1, to = 1;
  for (size_t i = 2; i < x.size(); ++i) {
    from *= x[i];
    to *= y[i];
  }
  const qk_unpool_params params{static_cast<int32_t>(x[0] * x[1]), static_cast<int32_t>(from),
                                static_cast<int32_t>(to),
                                static_cast<int32_t>(bytes(l.in_type(0).dtype))};
  l.call("qk_max_unpool", params, {l.in(0), l.in(1)}, {l.out()});
  return Ok{};
}

}  // namespace qc
