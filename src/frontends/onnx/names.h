// Names: the names of a graph, numbered in the order they were added.
#pragma once

#include <string_view>
#include <vector>

#include "support/index_table.h"

namespace qc::onnx {

class Names {
 public:
  static constexpr uint32_t kNone = IndexTable::kNone;

  void reserve(size_t count) {
    texts_.reserve(count);
    table_.reserve(count);
  }
  size_t size() const { return texts_.size(); }
  /// The number of a name, kNone when it was not added.
  uint32_t find(std::string_view name) const {
    return table_.find(hash(name), [&](uint32_t i) { return texts_[i] == name; });
  }
  /// The number of a name, which is new when it equals the old size.
  uint32_t add(std::string_view name) {
    const auto fresh = static_cast<uint32_t>(texts_.size());
    const uint32_t number =
        table_.find_or_add(hash(name), fresh, [&](uint32_t i) { return texts_[i] == name; });
    if (number == fresh) texts_.push_back(name);
    return number;
  }

 private:
  static size_t hash(std::string_view name) { return std::hash<std::string_view>()(name); }

  std::vector<std::string_view> texts_;
  IndexTable table_;
};

}  // namespace qc::onnx
