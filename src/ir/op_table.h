// OpTable: the ops the program was built with, by name. Filled once by the generated op list.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "ir/node.h"

namespace qc {

struct OpEntry {
  const OpInfo* info;
  std::function<std::unique_ptr<Node>()> create;
  std::string_view folder;  // src/ops/<folder>
};

class OpTable {
 public:
  void add(OpEntry entry);
  /// Null when there is no such op.
  const OpEntry* find(std::string_view name) const;
  /// The first op, by name, with the trait; null when there is none.
  const OpEntry* find_trait(Trait trait) const;
  const std::map<std::string_view, OpEntry>& all() const { return entries_; }

 private:
  std::map<std::string_view, OpEntry> entries_;
};

/// The table of this process.
OpTable& op_table();

/// Sets attributes by name; an unknown name or an unfitting value is an error.
Result<Ok> set_attrs(Node& node, const AttrMap& attrs, const Loc& loc);
/// All attributes by name; those at their default only when `all`.
std::vector<std::pair<std::string, AttrValue>> get_attrs(const Node& node, bool all = true);

}  // namespace qc
