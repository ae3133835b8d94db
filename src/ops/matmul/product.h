// A matrix product with concrete sizes.
#pragma once

#include <vector>

#include "ir/node.h"
#include "ops/common/macs.h"

namespace qc {

inline int32_t i32(int64_t v) { return static_cast<int32_t>(v); }
inline bool differ(const Dim& a, const Dim& b) {
  return a.is_static() && b.is_static() && !(a == b);
}

/// A batched product with concrete sizes: output batch axes and each operand's distance (in
/// elements) along them, 0 where it broadcasts.
struct GemmShape {
  Ints batch, a_batch, b_batch;
  int64_t m = 1, n = 1, k = 1;
  bool b_rows = false;  // b is [n, k]
  int64_t a_matrices = 1, b_matrices = 1;

  int64_t matrices() const {
    int64_t count = 1;
    for (int64_t d : batch) count *= d;
    return count;
  }
};

/// Elements from the first to the last of an operand whose strides along the batch axes are
/// `steps`, from `axis` on; `matrix` of them are one matrix.
inline int64_t spanned(const GemmShape& p, const Ints& steps, int64_t matrix, size_t axis) {
  for (size_t i = axis; i < p.batch.size(); ++i) matrix += (p.batch[i] - 1) * steps[i];
  return matrix;
}
inline int64_t a_elements(const GemmShape& p, size_t axis) {
  return spanned(p, p.a_batch, p.m * p.k, axis);
}
inline int64_t b_elements(const GemmShape& p, size_t axis) {
  return spanned(p, p.b_batch, p.k * p.n, axis);
}

/// Multiply-accumulates of a node whose first operand's rows are as long as its sums.
inline int64_t product_macs(const Node& node) {
  Dims sizes = node.output()->shape();
  sizes.push_back(node.input_type(0).shape.back());
  return macs_of(sizes);
}

/// Distances along the broadcast batch axes of an operand whose own batch sizes are `own`.
inline Ints batch_steps(const Ints& own, const Ints& batch, int64_t matrix) {
  Ints steps(batch.size(), 0);
  int64_t step = matrix;
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t from = own.size() - 1 - i;
    if (own[from] != 1) steps[batch.size() - 1 - i] = step;
    step *= own[from];
  }
  return steps;
}

inline GemmShape product_of(Ints a, Ints b, bool b_rows, const Ints& out) {
  GemmShape p;
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  p.k = a.back();
  p.m = vector_a ? 1 : a[a.size() - 2];
  p.b_rows = b_rows || vector_b;
  p.n = vector_b ? 1 : b_rows ? b[b.size() - 2] : b.back();
  a.resize(a.size() - (vector_a ? 1 : 2));
  b.resize(b.size() - (vector_b ? 1 : 2));
  p.batch.assign(out.begin(), out.end() - (vector_a ? 0 : 1) - (vector_b ? 0 : 1));
  p.a_batch = batch_steps(a, p.batch, p.m * p.k);
  p.b_batch = batch_steps(b, p.batch, p.k * p.n);
  for (int64_t d : a) p.a_matrices *= d;
  for (int64_t d : b) p.b_matrices *= d;
  return p;
}

/// The shape of a matrix product with NumPy's rules.
inline Result<Dims> product_shape(const Dims& a, const Dims& b, bool transpose_b, const Loc& loc) {
  if (a.empty() || b.empty() || (transpose_b && b.size() < 2)) {
    return error(Code::shape, loc, "matrix product of {} and {}", str(a), str(b));
  }
  Dims batch_a = a, batch_b = b;
  auto take = [](Dims& dims) {
    Dim d = dims.back();
    dims.pop_back();
    return d;
  };
  const Dim k = take(batch_a);
  Dim inner = take(batch_b);
  std::optional<Dim> m, n;
  if (a.size() > 1) m = take(batch_a);
  if (b.size() > 1) {
    n = inner;
    inner = take(batch_b);
    if (transpose_b) std::swap(*n, inner);
  }
  if (differ(k, inner)) {
    return error(Code::shape, loc, "matrix product of {} and {}: {} columns meet {} rows", str(a),
                 str(b), k.str(), inner.str());
  }
  QC_ASSIGN(Dims shape, broadcast(batch_a, batch_b, loc));
  if (m) shape.push_back(*m);
  if (n) shape.push_back(*n);
  return shape;
}

/// Sizes that go into kernel parameters.
inline Result<Ok> check_sizes(const GemmShape& p, const Loc& loc) {
  for (int64_t v : {p.m * p.k, p.k * (p.n + 16), p.m * p.n, p.matrices() * p.m}) {
    if (v > INT32_MAX) return error(Code::limit, loc, "a matrix of {} elements is too large", v);
  }
  return Ok{};
}

/// Whether distances run through all matrices in order, one after the other.
inline bool dense(const GemmShape& p, const Ints& steps, int64_t matrix) {
  for (size_t i = p.batch.size(); i-- > 0; matrix *= p.batch[i]) {
    if (p.batch[i] != 1 && steps[i] != matrix) return false;
  }
  return true;
}

/// Calls `visit(i, from_a, from_b)` for every matrix of the batch: where its operands start.
template <class F>
void for_each_matrix(const GemmShape& p, F&& visit) {
  for (int64_t i = 0; i < p.matrices(); ++i) {
    int64_t from_a = 0, from_b = 0, rest = i;
    for (size_t d = p.batch.size(); d-- > 0; rest /= p.batch[d]) {
      from_a += rest % p.batch[d] * p.a_batch[d];
      from_b += rest % p.batch[d] * p.b_batch[d];
    }
    visit(i, from_a, from_b);
  }
}

/// The product of a linear layer: x [..., k] and w [n, k].
inline GemmShape linear_product(const Ints& x, const Ints& w) {
  GemmShape p;
  p.n = w[0];
  p.k = w[1];
  p.b_rows = true;
  for (size_t i = 0; i + 1 < x.size(); ++i) p.m *= x[i];
  return p;
}

}  // namespace qc
