#include "ir/op_table.h"

#include <mutex>
#include <shared_mutex>

namespace qc {
namespace {

class Setter : public AttrVisitor {
 public:
  explicit Setter(AttrMap attrs) : attrs_(std::move(attrs)) {}
  AttrMap left() && { return std::move(attrs_); }
  std::string unfitting;

 protected:
  void visit(const char* name, AttrValue& value, const AttrValue* standard) override {
    auto it = attrs_.find(name);
    if (it == attrs_.end()) {
      if (standard) value = *standard;
      return;
    }
    if (convert_attr(it->second, value))
      value = std::move(it->second);
    else
      unfitting = name;
    attrs_.erase(it);
  }

 private:
  AttrMap attrs_;
};

class Getter : public AttrVisitor {
 public:
  explicit Getter(bool all) : all_(all) {}
  std::vector<std::pair<std::string, AttrValue>> attrs;

 protected:
  void visit(const char* name, AttrValue& value, const AttrValue* standard) override {
    if (all_ || !standard || !(value == *standard)) attrs.emplace_back(name, value);
  }

 private:
  bool all_;
};

/// Ops may be added while other threads look for some; entries stay where they are.
std::shared_mutex& table_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

}  // namespace

void OpTable::add(OpEntry entry) {
  const std::unique_lock lock(table_mutex());
  const bool fresh = entries_.emplace(entry.info->name, entry).second;
  QC_CHECK(fresh, "two ops have the same name");
}

const OpEntry* OpTable::find(std::string_view name) const {
  const std::shared_lock lock(table_mutex());
  auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

const OpEntry* OpTable::find_trait(Trait trait) const {
  const std::shared_lock lock(table_mutex());
  for (const auto& [name, entry] : entries_) {
    if (entry.info->has(trait)) return &entry;
  }
  return nullptr;
}

OpTable& op_table() {
  static OpTable table;
  return table;
}

Result<Ok> set_attrs(Node& node, const AttrMap& attrs, const Loc& loc) {
  Setter setter(attrs);
  node.attrs(setter);
  if (!setter.unfitting.empty()) {
    return error(Code::attribute, loc, "attribute '{}' of {} has the wrong kind", setter.unfitting,
                 node.op());
  }
  AttrMap left = std::move(setter).left();
  if (!left.empty()) {
    return error(Code::attribute, loc, "{} has no attribute '{}'", node.op(), left.begin()->first);
  }
  return Ok{};
}

std::vector<std::pair<std::string, AttrValue>> get_attrs(const Node& node, bool all) {
  Getter getter(all);
  const_cast<Node&>(node).attrs(getter);
  return std::move(getter.attrs);
}

}  // namespace qc
