// Dim: an integer expression over named symbols, kept in a normal form so that equal expressions
// compare equal. Shapes of values are lists of Dims.
//
// Normal form: a sum of terms, each an integer times a product of atoms in a fixed order; an atom
// is a symbol or an application of floordiv, mod, min, max to normal-form arguments. A Dim without
// atoms is a plain int64.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace qc {

using Bindings = std::map<std::string, int64_t, std::less<>>;

/// All integers from min to max.
struct Bounds {
  int64_t min = 0, max = 0;
  bool operator==(const Bounds&) const = default;
};
/// What symbols may be.
using SymbolBounds = std::map<std::string, Bounds, std::less<>>;

class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  static Dim symbol(std::string_view name);

  bool is_static() const { return expr_ == nullptr; }
  /// The number; only for static dims.
  int64_t value() const {
    QC_CHECK(is_static(), "value() of a symbolic dim");
    return value_;
  }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Rounds toward minus infinity; a zero static divisor gives 0 (front ends refuse it before).
  friend Dim floordiv(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend Dim ceildiv(const Dim& a, const Dim& b) { return Dim(0) - floordiv(Dim(0) - a, b); }

  /// Provably equal: the normal forms are the same.
  bool operator==(const Dim& other) const;

  /// The dim with symbols replaced by numbers.
  Dim substitute(const Bindings& bindings) const;
  /// The dim without the choices of min and max that are the same wherever its symbols lie.
  Dim within(const SymbolBounds& symbols) const;
  void collect_symbols(std::set<std::string>& out) const;
  /// Numbers between which the dim lies wherever its symbols do; those without an interval may be
  /// anything from 0 on. What would leave 64 bits stops at their ends.
  Bounds bounds(const SymbolBounds& symbols) const;

  /// The same, or narrower: min and max are looked at as one argument or the other, in at most so
  /// many cases, so that s - min(s, 2) is 0 or more.
  Bounds bounds_by_cases(const SymbolBounds& symbols, int cases = 64) const;

  /// Infix text: "3", "batch", "2*s0 + 1", "floordiv(s0, 2)".
  std::string str() const;
  /// Parses what `str` prints and what ONNX's dim_param expressions contain (`//`, `**`, Max, Min,
  /// Mod).
  static Result<Dim> parse(std::string_view text);
  /// How another language writes symbols and functions (floordiv, mod, min, max).
  struct Notation {
    std::function<std::string(const std::string& symbol)> symbol;
    std::function<std::string(std::string_view function, const std::string& a,
                              const std::string& b)>
        apply;
  };
  std::string str(const Notation& notation) const;

  /// How many operations of this thread had results beyond 64 bits; these wrap. Who computes sizes
  /// of a file compares the count before and after.
  static uint64_t overflows();

 private:
  friend struct DimBuilder;
  struct Expr;
  int64_t value_ = 0;
  std::shared_ptr<const Expr> expr_;
};

using Dims = std::vector<Dim>;

/// Product of all dims (1 for none).
Dim product(const Dims& dims);
bool all_static(const Dims& dims);
/// The numbers of a fully static list.
std::vector<int64_t> static_dims(const Dims& dims);
Dims to_dims(const std::vector<int64_t>& dims);
/// "[1, 3, h, w]"
std::string str(const Dims& dims);

}  // namespace qc

extern template class std::vector<qc::Dim>;
