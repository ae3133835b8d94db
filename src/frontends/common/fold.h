// Folding while importing, and building in ONNX's terms.
#pragma once

#include "frontends/common/foreign.h"

namespace qc {

/// Replaces nodes after `before` (all when null) by constants where their small operands are
/// constant or their contents are known; `results` follows the replacement.
Result<Ok> fold_new_nodes(Graph& graph, Node* before, Values& results);

/// Version of the ops `add_onnx` speaks of.
inline constexpr int kOnnxVersion = 28;
using OnnxArgs = std::vector<std::pair<std::string, Arg>>;
/// Adds what the ONNX op of that name (default domain) stands for, folded; `outputs` is how many of
/// its outputs are wanted.
Result<Values> add_onnx(Graph& graph, const Loc& loc, std::string_view op, Values inputs,
                        OnnxArgs args = {}, size_t outputs = 1);

}  // namespace qc
