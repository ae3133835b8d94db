// Small ops that are a line or two of others: ONNX's.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/composed/composed.h"

namespace qc {
namespace {

Result<Values> swiglu(Import& m) {
  Compose c(m);
  Value* gate = c.take(operand(m, 0));
  Value* x = c.take(operand(m, 1));
  const double alpha = c.take(m.f("alpha", 1));
  return c.done({c("Mul", {c("Swish", {gate}, {{"alpha", alpha}}), x})});
}

/// Determinant of [..., n, n] for n up to 4, by expansion along the first row of what is left.
Value* determinant(Compose& c, Value* x, size_t row, const Ints& columns) {
  const int64_t n = static_cast<int64_t>(columns.size());
  auto element = [&](int64_t column) {
    Value* v = c("Gather", {x, c.import().scalar_int(static_cast<int64_t>(row), DType::i64)},
                 {{"axis", int64_t{-2}}});
    return c("Gather", {v, c.import().scalar_int(column, DType::i64)}, {{"axis", int64_t{-1}}});
  };
  if (n == 1) return element(columns[0]);
  Value* sum = nullptr;
  for (int64_t i = 0; i < n && c.ok(); ++i) {
    Ints rest = columns;
    rest.erase(rest.begin() + i);
    Value* term =
        c("Mul", {element(columns[static_cast<size_t>(i)]), determinant(c, x, row + 1, rest)});
    sum = !sum ? term : c(i % 2 == 0 ? "Add" : "Sub", {sum, term});
  }
  return sum;
}

Result<Values> det(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  if (!c.ok()) return c.done({});
  const int64_t rank = x->rank();
  if (rank < 2 || !x->shape().back().is_static() ||
      !(x->shape()[static_cast<size_t>(rank - 2)] == x->shape().back())) {
    return m.fail(Code::shape, "determinant of {}", str(x->shape()));
  }
  const int64_t n = x->shape().back().value();
  if (n < 1 || n > 4)
    return m.fail(Code::unsupported, "determinants of size {}; 1 to 4 are supported", n);
  Ints columns;
  for (int64_t i = 0; i < n; ++i) columns.push_back(i);
  return c.done({determinant(c, x, 0, columns)});
}

/// 1 where x is above the threshold, else 0, in the type of x.
Result<Values> binarizer(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  const double threshold = c.take(m.f("threshold", 0));
  if (!c.ok()) return c.done({});
  return c.done({c.cast(c("Greater", {x, c.number(threshold, x)}), x->dtype())});
}

Result<Values> array_feature_extractor(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* index = c.take(operand(m, 1));
  if (!c.ok()) return c.done({});
  return c.done(
      {c("Gather", {x, c.reshape(index, {product(index->shape())})}, {{"axis", int64_t{-1}}})});
}

constexpr ImportRow kRows[] = {
    {"", "SwiGLU", swiglu, 28},
    {"", "Det", det, 11},
    {"ai.onnx.ml", "Binarizer", binarizer},
    {"ai.onnx.ml", "ArrayFeatureExtractor", array_feature_extractor},
};

}  // namespace

void register_composed(Registration& r) {
  r.imports(kRows);
  r.imports(composed_aten_rows());
}

}  // namespace qc
