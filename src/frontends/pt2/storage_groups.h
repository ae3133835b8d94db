// Weights that lie in one storage, such as a buffer that is a slice of another one: a write to one
// of them is a write to all.
#pragma once

#include <vector>

#include "frontends/pt2/archive.h"
#include "frontends/pt2/context.h"

namespace qc::pt2 {

using StorageGroup = std::vector<const InputSpec*>;

/// The weights that share their storage with others.
std::vector<StorageGroup> storage_groups(const Archive& archive);
/// The names of their placeholders.
SharedNames placeholders(const std::vector<StorageGroup>& groups);

/// What holds the elements of all weights of a group.
struct GroupOwner {
  const InputSpec* cover = nullptr;  // the weight that covers the others; null: the storage itself
  TensorMeta meta;                   // how the owner lies in the storage
};
Result<GroupOwner> find_owner(const Context& context, const StorageGroup& group, const Loc& loc);

}  // namespace qc::pt2
