// Small helpers of import rows.
#pragma once

#include <algorithm>

#include "frontends/common/foreign.h"

namespace qc {

/// An op name as a template argument, so that one import function serves a family of rows.
struct OpName {
  char text[32] = {};
  template <size_t N>
  constexpr OpName(const char (&name)[N]) {
    static_assert(N <= sizeof(text));
    std::copy_n(name, N, text);
  }
};

/// Positional operand i; an error when the model leaves it out.
inline Result<Value*> operand(const Import& m, size_t i) {
  if (Value* v = m.in(i)) return v;
  return m.fail(Code::graph, "operand {} is missing", i);
}

/// The one output of a row.
inline Result<Values> one(Result<Value*> value) {
  if (!value.ok()) return std::move(value).diag();
  return Values{*value};
}

/// The value repeated to fill a shape, itself where it has that shape.
inline Result<Value*> expanded(const Import& m, Value* x, const Dims& shape) {
  if (x->shape() == shape) return x;
  return m.emit("expand", {x}, {{"shape", shape}});
}

/// The value as a float tensor: integers and bool become f32, as PyTorch's float functions do.
inline Result<Value*> as_float(const Import& m, Value* x) {
  return is_float(x->dtype()) ? Result<Value*>(x) : m.cast(x, DType::f32);
}

}  // namespace qc
