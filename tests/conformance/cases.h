// The exported ONNX cases as C++ sees them; tests/conformance/export_cases.py writes them.
#pragma once

#include <string>
#include <vector>

#include "arrays/compare.h"
#include "arrays/npz.h"
#include "support/result.h"

namespace qc::conformance {

/// One variant of a model: which of the case's inputs it still has.
struct Variant {
  int level = 0;
  std::vector<int> inputs;
};

struct Case {
  size_t index = 0;  // line in cases.tsv
  std::string name, group, folder;
  Tolerance tolerance;
  int sets = 0;
  std::vector<Variant> variants;
  std::string reason;      // why it cannot run at all; empty when it can
  std::string arithmetic;  // of quantized nodes; empty for the model's own
};

/// Reads DIR/cases.tsv.
Result<std::vector<Case>> read_cases(const std::string& dir);

struct DataSet {
  std::vector<Tensor> inputs, outputs;
  std::vector<Tolerance> tolerances;  // of each output; empty: the case's for all
};
Result<DataSet> read_set(const Case& c, int index);

/// The tensor under another element type of the same size: types numpy does not have are stored as
/// integers. Unchanged when the sizes differ or it already has the type.
Tensor retyped(const Tensor& tensor, DType dtype);

/// Empty when every output fits the expected one; else the first that does not.
std::string misses(const std::vector<Tensor>& got, const DataSet& want, Tolerance tolerance);

/// Whether the bits are the same, any NaN counted as equal to any other.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace qc::conformance
