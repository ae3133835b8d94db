#include "tests/conformance/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "support/file.h"

namespace qc::conformance {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (true) {
    size_t to = text.find(by, from);
    parts.push_back(text.substr(from, to - from));
    if (to == text.npos) return parts;
    from = to + 1;
  }
}

std::vector<Variant> read_variants(const std::string& text) {
  std::vector<Variant> variants;
  for (const std::string& part : split(text, '|')) {
    auto halves = split(part, ':');
    if (halves.size() != 2) continue;
    Variant v;
    v.level = std::atoi(halves[0].c_str());
    for (const std::string& index : split(halves[1], ',')) {
      if (!index.empty()) v.inputs.push_back(std::atoi(index.c_str()));
    }
    variants.push_back(std::move(v));
  }
  return variants;
}

}  // namespace

Result<std::vector<Case>> read_cases(const std::string& dir) {
  QC_ASSIGN(std::string text, read_text(dir + "/cases.tsv"));
  std::vector<Case> cases;
  for (const std::string& line : split(text, '\n')) {
    auto f = split(line, '\t');
    if (f.size() != 7 && f.size() != 8) continue;
    Case c;
    c.index = cases.size();
    c.name = f[0];
    c.group = f[1];
    c.folder = dir + "/" + f[0];
    c.tolerance = {std::strtod(f[2].c_str(), nullptr), std::strtod(f[3].c_str(), nullptr)};
    c.sets = std::atoi(f[4].c_str());
    c.variants = read_variants(f[5]);
    c.reason = f[6];
    if (f.size() == 8) c.arithmetic = f[7];
    cases.push_back(std::move(c));
  }
  return cases;
}

Result<DataSet> read_set(const Case& c, int index) {
  QC_ASSIGN(auto arrays, read_npz(fmt::format("{}/set_{}.npz", c.folder, index)));
  DataSet set;
  for (NamedArray& a : arrays) {
    if (a.name.starts_with("tol_")) {
      set.tolerances.push_back({a.tensor.as_double(0), a.tensor.as_double(1)});
    } else {
      (a.name.starts_with("in_") ? set.inputs : set.outputs).push_back(std::move(a.tensor));
    }
  }
  return set;
}

Tensor retyped(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype || bytes(tensor.dtype()) != bytes(dtype)) return tensor;
  bool known = is_float(tensor.dtype()) || tensor.dtype() == DType::boolean;
  if (known || !(is_float(dtype) || bits(dtype) < 8)) return tensor;
  auto owner = std::make_shared<Tensor>(tensor);
  return Tensor::borrow(dtype, tensor.shape(), owner->bytes(), owner);
}

std::string misses(const std::vector<Tensor>& got, const DataSet& set, Tolerance tolerance) {
  const std::vector<Tensor>& want = set.outputs;
  if (got.size() != want.size()) {
    return fmt::format("{} outputs, expected {}", got.size(), want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    Tensor expected = retyped(want[i], got[i].dtype());
    Tolerance allowed = i < set.tolerances.size() ? set.tolerances[i] : tolerance;
    // As onnx's own runner: two units in the last place of bf16.
    if (expected.dtype() == DType::bf16) allowed.rtol = std::max(allowed.rtol, std::ldexp(1, -6));
    std::string text = describe(compare(got[i], expected, allowed), got[i], expected);
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  return {};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.identical(b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !is_float(a.dtype())) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

}  // namespace qc::conformance
