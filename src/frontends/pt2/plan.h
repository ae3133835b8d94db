// What is known about a graph of the file before any of it is imported: its flat form, which nodes
// matter, and how each node is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/common/foreign.h"
#include "frontends/pt2/inline.h"
#include "frontends/pt2/liveness.h"

namespace qc::pt2 {

struct Plan {
  std::string file;
  FlatGraph flat;
  Liveness liveness;
  std::vector<Loc> locs;  // of each node of `flat`
};

/// `kept` names the tensors whose memory matters after the graph has run, `shared` those that lie
/// in one storage before it does.
Result<Plan> make_plan(const ExportedGraph& graph, const std::vector<std::string>& live_names,
                       const std::string& file, const SharedNames& shared = {});

/// An error that lists every live op without an import row, bodies of control flow included, with
/// counts and first places.
Result<Ok> check_supported(const Plan& plan);

/// Higher-order ops that become regions: cond, while_loop, scan, map_impl.
bool is_control_flow(std::string_view target);
/// The row of an ATen op or of its plain form; null when there is none.
const ImportRow* find_row(const Target& target);

}  // namespace qc::pt2
