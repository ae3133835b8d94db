// Compose: for import rows of ops that are defined by other ops. The steps read like the formula;
// after the first error every step does nothing, and `done` reports it.
#pragma once

#include <optional>
#include <utility>

#include "frontends/common/fold.h"

namespace qc {

class Compose {
 public:
  using Args = OnnxArgs;
  explicit Compose(const Import& m) : m_(m) {}

  const Import& import() const { return m_; }
  bool ok() const { return !diag_.has_value(); }

  /// What the ONNX op gives, output 0; null after an error.
  Value* operator()(std::string_view op, Values inputs, Args args = {}) {
    Values out = all(op, std::move(inputs), std::move(args), 1);
    return out.empty() ? nullptr : out[0];
  }
  /// All of `outputs` outputs; empty after an error.
  Values all(std::string_view op, Values inputs, Args args, size_t outputs) {
    if (!ok()) return {};
    return take(add_onnx(m_.graph(), m_.loc(), op, std::move(inputs), std::move(args), outputs));
  }
  /// A node of quantc by name.
  Value* emit(std::string_view op, Values inputs, const AttrMap& attrs = {}) {
    return ok() ? take(m_.emit(op, std::move(inputs), attrs)) : nullptr;
  }
  Value* cast(Value* x, DType to) { return ok() ? take(m_.cast(x, to)) : nullptr; }
  Value* number(double value, DType dtype) { return m_.scalar(value, dtype); }
  /// A rank-0 number of the type of `like`.
  Value* number(double value, const Value* like) {
    return ok() ? m_.scalar(value, like->dtype()) : nullptr;
  }
  Value* ints(const Ints& values) { return m_.int_list(values); }
  Value* reshape(Value* x, const Dims& shape) {
    if (!ok() || x->shape() == shape) return x;
    return emit("reshape", {x}, {{"shape", shape}});
  }
  Value* clamp(Value* x, double lo, double hi) {
    return emit("clamp", {x}, {{"lo", lo}, {"hi", hi}});
  }

  /// The value of a Result; after an error (also this one) a default value.
  template <class T>
  T take(Result<T> result) {
    if (ok() && result.ok()) return std::move(result).value();
    if (ok()) diag_ = std::move(result).diag();
    return T{};
  }
  /// Records an error.
  template <class... A>
  void fail(Code code, fmt::format_string<A...> format, A&&... args) {
    if (ok()) diag_ = m_.fail(code, format, std::forward<A>(args)...);
  }

  Result<Values> done(Values values) const {
    if (diag_) return *diag_;
    return values;
  }

 private:
  const Import& m_;
  std::optional<Diag> diag_;
};

}  // namespace qc
