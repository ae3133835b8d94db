// What attention of floats and attention on codes have in common: attributes, the shapes they take,
// and which key a query sees.
#pragma once

#include "ir/node.h"

namespace qc {

enum AttentionOperands : size_t { kQ, kK, kV, kMask };

struct AttentionScores {
  double scale = 0;    // 0: 1 / sqrt(depth)
  double softcap = 0;  // 0: none
  /// Query i sees keys i + offset - left to i + offset + right; -1 does not limit. Causal: right =
  /// 0.
  int64_t left = -1, right = -1;
  Dim offset;
  /// A query that sees no key gives NaN, as a plain softmax does, not 0.
  bool nan_rows = false;
  /// The result is [batch, queries, heads * value depth], not [batch, heads, queries, value depth].
  bool joined = false;

  void visit(AttrVisitor& v) {
    v("scale", scale, 0.0);
    v("softcap", softcap, 0.0);
    v("left", left, int64_t{-1});
    v("right", right, int64_t{-1});
    v("offset", offset, Dim(0));
    v("nan_rows", nan_rows, false);
    v("joined", joined, false);
  }
  /// The same as attributes of another node.
  AttrMap written() const;
  float factor(int64_t depth) const;
  /// The same of a depth that may be free; an error where the factor follows from it.
  Result<float> factor(const Dim& depth, const Loc& loc) const;
  bool sees(int64_t query, int64_t key) const;
  /// The shape of the result; an error where operands or attributes do not fit.
  Result<Dims> check(const Node& node) const;
  /// Strides of batches, heads and queries in a dense result of operands with these shapes.
  Dims result_strides(const Dims& q, const Dims& v) const;
};

/// Strides of batches, heads and rows of operand i, or of what belongs to it row by row.
void fill_strides(const Node& node, size_t i, Dim (&at)[3]);

/// Strides of a mask along [batch, heads, queries, keys]; 0 where it broadcasts.
Dims mask_strides(const Dims& shape, const Dims& strides);
/// Those of the mask of a node as it lies in memory, 0 without one.
Dims mask_strides(const Node& node);

}  // namespace qc
