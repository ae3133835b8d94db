// Which nodes of a flat graph matter, and which inputs it writes to: found before anything is
// imported, so that dead random ops and unused weights cost nothing.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/pt2/inline.h"

namespace qc::pt2 {

/// "torch.ops.aten.add_.Tensor" as domain "aten" and op "add_.Tensor"; other targets as domain
/// "python" and the whole text.
struct Target {
  std::string_view domain, op;
};
Target split_target(std::string_view target);

/// Calls `visit(name)` for every tensor and symbol an argument names.
template <class F>
void for_each_name(const Argument& arg, F&& visit) {
  if (arg.kind == ArgKind::graph || arg.kind == ArgKind::custom_obj) return;
  for (const Item& item : arg.items) {
    if (item.kind == Item::Kind::name) visit(item.text);
  }
}

/// The name of the tensor an in-place op or a view op acts on; empty when there is none.
std::string_view first_tensor(const ExportedNode& node);

using SharedNames = std::vector<std::vector<std::string>>;

class Liveness {
 public:
  /// `outputs` and the memory of `kept` are what matters in the end; the names of each list in
  /// `shared` lie in one storage from the start.
  Liveness(const FlatGraph& graph, const std::vector<std::string>& outputs,
           const std::vector<std::string>& live_names, const SharedNames& shared = {});

  bool live(size_t node) const { return live_[node]; }
  /// Whether a live node or an output reads the name.
  bool read(const std::string& name) const { return read_.count(name) > 0; }
  /// Whether a live node writes to memory that the name may share.
  bool written(const std::string& name) const;

 private:
  /// Names that may share memory have one representative.
  const std::string& find(const std::string& name) const;
  void unite(const std::string& a, const std::string& b);

  std::vector<bool> live_;
  std::unordered_set<std::string> read_, live_memory_, written_;
  mutable std::unordered_map<std::string, std::string> parent_;  // paths are shortened on the way
};

}  // namespace qc::pt2
