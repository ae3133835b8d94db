// RuleIndex: which rules of a list may be for a node, without asking each of them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quant/rule.h"

namespace qc {

class RuleIndex {
 public:
  /// Both must outlive the index.
  explicit RuleIndex(const std::vector<std::unique_ptr<QuantRule>>& rules);

  /// The numbers of the rules that may match the node by its names, in order.
  std::vector<size_t> named(const Node& node) const;
  /// Those that do match it.
  std::vector<size_t> matching(const Node& node) const;

 private:
  using Numbers = std::unordered_map<std::string_view, std::vector<size_t>>;

  const std::vector<std::unique_ptr<QuantRule>>& rules_;
  std::vector<size_t> any_;   // rules that have to be asked
  Numbers whole_, starts_;    // those for names and for starts of names, by these
  std::set<size_t> lengths_;  // of the starts
};

}  // namespace qc
