// Prologues: an op applies another op to its operand before it computes. The pass fuse_prologues
// makes a row norm the prologue of its only reader.
#pragma once

#include <string>

#include "ir/graph.h"

namespace qc {

/// An op that can absorb the op that computes its operand 0.
class TakesPrologue {
 public:
  virtual ~TakesPrologue() = default;
  /// Adds, before this node, one that computes this node and the one behind its operand 0 together,
  /// bit-identically. Null if it cannot; `reason` says why if the fusion could be expected.
  virtual Result<Node*> with_prologue(Graph& graph, std::string& reason) = 0;
};

}  // namespace qc
