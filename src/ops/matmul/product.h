// Sizes of a matrix product: numbers for evaluation, Dims for calls.
#pragma once

#include <vector>

#include "ir/node.h"
#include "ir/relations.h"
#include "ops/common/macs.h"

namespace qc {

inline int32_t i32(int64_t v) { return static_cast<int32_t>(v); }

/// A batched product: output batch axes and each operand's stride (in elements) along them, 0
/// where it broadcasts.
template <class Size>
struct BasicGemmShape {
  std::vector<Size> batch, a_batch, b_batch;
  Size m = 1, n = 1, k = 1;
  bool b_rows = false;  // b is [n, k]
  Size a_matrices = 1, b_matrices = 1;

  Size matrices() const {
    Size count = 1;
    for (const Size& d : batch) count = count * d;
    return count;
  }
};
using GemmShape = BasicGemmShape<int64_t>;
using GemmDims = BasicGemmShape<Dim>;

/// Elements from the first to the last of an operand whose strides along the batch axes are
/// `steps`, from `axis` on; `matrix` of them are one matrix.
inline Dim spanned(const GemmDims& p, const Dims& steps, Dim matrix, size_t axis) {
  for (size_t i = axis; i < p.batch.size(); ++i) matrix = matrix + (p.batch[i] - Dim(1)) * steps[i];
  return matrix;
}
inline Dim a_elements(const GemmDims& p, size_t axis) {
  return spanned(p, p.a_batch, p.m * p.k, axis);
}
inline Dim b_elements(const GemmDims& p, size_t axis) {
  return spanned(p, p.b_batch, p.k * p.n, axis);
}

/// Multiply-accumulates of a node whose first operand's rows are as long as its accumulators.
inline int64_t product_macs(const Node& node) {
  Dims sizes = node.output()->shape();
  sizes.push_back(node.input_type(0).shape.back());
  return macs_of(node, sizes);
}

/// Strides along the broadcast batch axes of an operand whose own batch sizes are `own`.
template <class Size>
std::vector<Size> batch_steps(const std::vector<Size>& own, const std::vector<Size>& batch,
                              const Size& matrix) {
  std::vector<Size> steps(batch.size());
  Size step = matrix;
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t from = own.size() - 1 - i;
    if (!(own[from] == Size(1))) steps[batch.size() - 1 - i] = step;
    step = step * own[from];
  }
  return steps;
}

template <class Size>
BasicGemmShape<Size> product_of(std::vector<Size> a, std::vector<Size> b, bool b_rows,
                                const std::vector<Size>& out) {
  BasicGemmShape<Size> p;
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  p.k = a.back();
  p.m = vector_a ? Size(1) : a[a.size() - 2];
  p.b_rows = b_rows || vector_b;
  p.n = vector_b ? Size(1) : b_rows ? b[b.size() - 2] : b.back();
  a.resize(a.size() - (vector_a ? 1 : 2));
  b.resize(b.size() - (vector_b ? 1 : 2));
  p.batch.assign(out.begin(), out.end() - (vector_a ? 0 : 1) - (vector_b ? 0 : 1));
  p.a_batch = batch_steps<Size>(a, p.batch, p.m * p.k);
  p.b_batch = batch_steps<Size>(b, p.batch, p.k * p.n);
  for (const Size& d : a) p.a_matrices = p.a_matrices * d;
  for (const Size& d : b) p.b_matrices = p.b_matrices * d;
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

/// Whether strides run through all matrices in order, one after the other.
inline bool dense(const GemmDims& p, const Dims& steps, Dim matrix) {
  for (size_t i = p.batch.size(); i-- > 0;) {
    if (!(p.batch[i] == 1) && !(steps[i] == matrix)) return false;
    matrix = matrix * p.batch[i];
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
template <class Size>
BasicGemmShape<Size> linear_product(const std::vector<Size>& x, const std::vector<Size>& w) {
  BasicGemmShape<Size> p;
  p.n = w[0];
  p.k = w[1];
  p.b_rows = true;
  for (size_t i = 0; i + 1 < x.size(); ++i) p.m = p.m * x[i];
  return p;
}

}  // namespace qc
