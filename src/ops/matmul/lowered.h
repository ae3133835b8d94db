// What lowerings of matrix products share.
#pragma once

#include "ops/matmul/product.h"
#include "program/lowering.h"

namespace qc {

/// Sizes that go into kernel parameters, and operands that are repeated along batch axes or not
/// whatever the free sizes are.
inline Result<Ok> check_sizes(const Lowering& l, const GemmDims& p) {
  for (const Dim& size : {p.m * p.k, p.k * (p.n + Dim(16)), p.m * p.n, p.matrices() * p.m}) {
    QC_TRY(l.param(size));
  }
  return Ok{};
}

/// The product of a matmul node; an error where free sizes do not say which batches are repeated.
inline Result<GemmDims> matmul_product(const Lowering& l, bool transpose_b) {
  const Dims &a = l.in_type(0).shape, &b = l.in_type(1).shape, &y = l.out_type().shape;
  const GemmDims p = product_of(a, b, transpose_b, y);
  for (const Dims& own : {a, b}) {
    for (size_t i = 2; i < own.size(); ++i) {
      const Dim &size = own[own.size() - 1 - i], &all = p.batch[p.batch.size() + 1 - i];
      if (!(size == 1) && !(size == all)) QC_TRY(l.need_numbers());
    }
  }
  return p;
}

}  // namespace qc
