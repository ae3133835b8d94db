// assign_layouts: stores values channels-last around ops that are faster in that layout.
//
//   %1 = conv(%0, @w)            ->  %1 : nhwc = relayout(%0)
//   %2 = clamp(%1)                   %2 : nhwc = conv(%1, @w)
//   return %2                        %3 : nhwc = clamp(%2)
//                                    %4 = relayout(%3)   return %4
//
// Shapes and answers stay; only the layout in the types changes. Ops with kWantsChannelsLast start
// a channels-last region and ops with kAnyLayout extend it. A relayout is inserted where the region
// meets another op, an input, an output or a state. The graph stays unchanged if the relayouts cost
// more than the layout saves. Requires static shapes.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> assign_layouts(Graph& graph, PassContext& context);

}  // namespace qc
