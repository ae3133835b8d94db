#pragma once

#include <string_view>

#include "ir/op_table.h"

namespace qc {

/// The attribute of this name, of type T, of a node of whatever op; T{} where it has none.
template <class T>
T attribute(const Node& node, std::string_view name) {
  for (const auto& [key, value] : get_attrs(node)) {
    if (const T* found = key == name ? std::get_if<T>(&value) : nullptr) return *found;
  }
  return T{};
}

}  // namespace qc
