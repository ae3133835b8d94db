// Quantizing epilogues: a float op quantizes its result before it stores it. The pass fuse_quantize
// makes a quantize the epilogue of the norm, softmax or activation whose only reader it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/insert_point.h"

namespace qc {

/// The parameters of a quantize node: static scales, or dynamic ones that each run computes from
/// the elements.
struct QuantizeEpilogue {
  bool dynamic = false;
  QType to;                          // the format if scales are static, else the type of the codes
  std::string arithmetic = "exact";  // for static scales
  bool symmetric = false, per_token = false;  // for dynamic scales
  bool floats = false;                        // the floats are a result too, for other readers

  /// The attributes of the quantize nodes, by the same names.
  void attrs(AttrVisitor& v);
  /// The result types for a float result of type `x`: codes; scales and zero points if dynamic, one
  /// per tensor or per row of the last axis; the floats if `floats`. Checks all parameters.
  Result<std::vector<Type>> types(const Type& x, const Loc& loc) const;
  /// The index of the result that holds the floats.
  size_t floats_at() const { return dynamic ? 3 : 1; }
};

/// A node that only turns floats into codes.
class IsQuantizeEpilogue {
 public:
  virtual ~IsQuantizeEpilogue() = default;
  /// Nullopt if the node does more than quantize, such as changing the layout.
  virtual std::optional<QuantizeEpilogue> epilogue() const = 0;
};

/// Why an op that cannot keep its floats stays beside a quantize.
inline constexpr const char* kReadAsFloats = "others read its result too";

/// An op that can write codes instead of its float result 0.
class TakesQuantizeEpilogue {
 public:
  virtual ~TakesQuantizeEpilogue() = default;
  /// Adds a node that computes this one and writes codes; its first results are those of the
  /// epilogue. Null if it cannot, with `reason` for reports. It may absorb nodes before this one,
  /// and joins their locations.
  virtual Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                      std::string& reason) = 0;
};

}  // namespace qc
