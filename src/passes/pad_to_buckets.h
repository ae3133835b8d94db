// graph (x : [seq, 8]) { y = softmax(x) {axis = 0} } with buckets 4, 16 of seq
//   -> c = at_most() {size = seq, limit = 4}
//      y = if(c, x) (x) { p = pad_or_trim(x) {axis = 0, size = 4, valid = seq}
//                         f = pad_or_trim(p, -inf) {axis = 0, size = 4, valid = seq}
//                         q = softmax(f)
//                         y = pad_or_trim(q) {axis = 0, size = seq, valid = seq} }
//                   (x) { the same with 16 }
// A run takes the smallest bucket that holds its size: inputs are padded to it, padding is
// overwritten by what changes nothing wherever elements along the dimension meet, results are cut
// back. Every result keeps its bits. An op that cannot be padded is refused; where the dimension
// allows it, it takes the run's own size: its operands are cut back for it.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> pad_to_buckets(Graph& graph, PassContext& context);

}  // namespace qc
