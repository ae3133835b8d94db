// Epilogues: what a float op does with its result before it stores it. A quantize after a norm, a
// softmax or an activation that nobody else reads becomes the epilogue of that op, which then
// writes codes itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/insert_point.h"

namespace qc {

/// How floats become codes, as a quantize node says it: by static scales, or by scales and zero
/// points found from the elements when it runs.
struct QuantizeEpilogue {
  bool dynamic = false;
  QType to;                          // of static scales the format, else the type of the codes
  std::string arithmetic = "exact";  // of static scales
  bool symmetric = false, per_token = false;  // of dynamic ones
  bool floats = false;                        // the floats are a result too, for other readers

  /// The attributes of the quantize nodes, by the same names.
  void attrs(AttrVisitor& v);
  /// What a float result of type `x` becomes: codes, then for dynamic epilogues scales and zero
  /// points, one for the tensor or one per row of the last axis; then the floats where they are
  /// kept. Checks everything.
  Result<std::vector<Type>> types(const Type& x, const Loc& loc) const;
  /// Which result the kept floats are.
  size_t floats_at() const { return dynamic ? 3 : 1; }
};

/// A node that only turns floats into codes.
class IsQuantizeEpilogue {
 public:
  virtual ~IsQuantizeEpilogue() = default;
  /// Nothing where it does more: changes the layout, say.
  virtual std::optional<QuantizeEpilogue> epilogue() const = 0;
};

/// Why an op that cannot keep its floats stays beside a quantize.
inline constexpr const char* kReadAsFloats = "others read its result too";

/// An op that can write codes in place of its float result 0.
class TakesQuantizeEpilogue {
 public:
  virtual ~TakesQuantizeEpilogue() = default;
  /// Adds a node that computes what this one does and writes codes: its first results are those of
  /// the epilogue. Null where it cannot, with `reason` for reports. It may take in nodes before it,
  /// whose locations it joins.
  virtual Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                      std::string& reason) = 0;
};

}  // namespace qc
