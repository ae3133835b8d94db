// assign_layouts: values around ops that are faster so are stored channels-last.
//
//   %1 = conv(%0, @w)            ->  %1 : nhwc = relayout(%0)
//   %2 = clamp(%1)                   %2 : nhwc = conv(%1, @w)
//   return %2                        %3 : nhwc = clamp(%2)
//                                    %4 = relayout(%3)   return %4
//
// Shapes and answers stay; only the layout in the types changes. Ops with kWantsChannelsLast start
// a channels-last stretch, ops with kAnyLayout carry it on, and a relayout stands wherever it meets
// another op, an input, an output or a state. Where moving the elements costs more than
// it can win, the graph stays as it is. Relies on static shapes.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> assign_layouts(Graph& graph, PassContext& context);

}  // namespace qc
