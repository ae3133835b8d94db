// Notes: which rule spoke about a value. Rules match nodes before fusion, each by its own name;
// their schemes are noted on the values (Value::note() is an index into this table) and stay with
// them through the passes that fuse.
#pragma once

#include <vector>

#include "ir/node.h"
#include "quant/scheme.h"

namespace qc {

struct QNote {
  size_t rule = 0;  // index of the rule in its set
  QScheme scheme;
  std::string node;       // the node that matched, by its first name
  bool inserted = false;  // its operands, weights or results became codes
};

using QNotes = std::vector<QNote>;

/// The note of a value; null for none.
inline const QNote* note_of(const QNotes& notes, const Value* value) {
  return value->note() >= 0 ? &notes[static_cast<size_t>(value->note())] : nullptr;
}

/// Whether a fused node may leave out `inner`, being left with `outer`: not when two rules speak
/// about them, because then `inner` has a rounding of its own.
inline bool may_fuse(const QNotes& notes, const Value* inner, const Value* outer) {
  const QNote *a = note_of(notes, inner), *b = note_of(notes, outer);
  return !a || !b || a->rule == b->rule;
}

}  // namespace qc
