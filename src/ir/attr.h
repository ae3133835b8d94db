// Attributes of nodes. A node class keeps its attributes as typed members and names them once, in
// `attrs(AttrVisitor&)`; printing, parsing, comparing, binding dims and building by name all go
// through that one function.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/type.h"

namespace qc {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using AttrVariant =
    std::variant<bool, int64_t, double, std::string, DType, Ints, Floats, Dim, Dims, QType>;

/// The value of an attribute. What is out of line here and in AttrMap stands in every import and
/// every rewrite.
class AttrValue : public AttrVariant {
 public:
  using AttrVariant::AttrVariant;
  using AttrVariant::operator=;
  AttrValue();
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();
};

/// Attributes by name.
class AttrMap : public std::map<std::string, AttrValue, std::less<>> {
 public:
  AttrMap();
  AttrMap(std::initializer_list<value_type> entries);
  AttrMap(const AttrMap&);
  AttrMap(AttrMap&&) noexcept;
  AttrMap& operator=(const AttrMap&);
  AttrMap& operator=(AttrMap&&) noexcept;
  ~AttrMap();
};

/// Text of one value as it stands in the text form: true, 3, 0.5, "linear", i8, [1, 2], [0.5, 1.0],
/// #s0.
std::string str(const AttrValue& value);

class AttrVisitor {
 public:
  virtual ~AttrVisitor() = default;

  /// An attribute that is always written. T is one of the alternatives of AttrVariant.
  template <class T>
  void operator()(const char* name, T& member);
  /// An attribute that is left out of the text when it has its default.
  template <class T>
  void operator()(const char* name, T& member, T fallback);

 protected:
  /// Reads or changes `value`, which keeps its alternative (a visitor that sets an int attribute
  /// from a dim, or the reverse, converts).
  virtual void visit(const char* name, AttrValue& value, const AttrValue* standard) = 0;
};

/// Converts `value` to the alternative of `target` where that loses nothing (int -> double, ints ->
/// dims, static dims -> ints, empty list of another kind); false when it does not fit.
bool convert_attr(AttrValue& value, const AttrValue& target);

}  // namespace qc
