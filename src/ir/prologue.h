// Prologues: what is done to the operand of an op before the op itself. A norm of the rows that an
// op reads, and nobody else does, becomes the prologue of that op, for the pass fuse_prologues.
#pragma once

#include <string>

#include "ir/graph.h"

namespace qc {

/// An op that can do itself what another does to its operand 0.
class TakesPrologue {
 public:
  virtual ~TakesPrologue() = default;
  /// Adds, before this node, one that computes what this one and the one that gives its operand 0
  /// do together, to the bit. Null where it cannot; `reason` says why where one might expect it.
  virtual Result<Node*> with_prologue(Graph& graph, std::string& reason) = 0;
};

}  // namespace qc
