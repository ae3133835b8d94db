// Relations of sizes on which types rely. Ops state them in `infer` with these functions: a
// relation that is known not to hold is an error there. One of free sizes may hold for some only;
// who lowers a graph asks for those that were not known, and has runs check what cannot be proved.
#pragma once

#include "ir/guard.h"

namespace qc {

/// Known to differ; notes a == b where that is not known.
bool differ(const Dim& a, const Dim& b);
/// Known to be larger; notes a <= b where that is not known.
bool exceeds(const Dim& a, const Dim& b);

/// While it lives, relations that are not known are added to the list, on this thread.
class NotedRelations {
 public:
  explicit NotedRelations(std::vector<DimGuard>& to);
  ~NotedRelations();
  NotedRelations(const NotedRelations&) = delete;
  NotedRelations& operator=(const NotedRelations&) = delete;

 private:
  std::vector<DimGuard>* outer_;
};

/// Whether a relation holds for all sizes that symbols may have, or for none; nullopt where it
/// depends on them or cannot be proved.
std::optional<bool> proved(const DimGuard& relation, const SymbolBounds& symbols);

}  // namespace qc
