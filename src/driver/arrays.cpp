#include "driver/arrays.h"

#include <fmt/format.h>

#include <cmath>

#include "arrays/npy.h"
#include "frontends/onnx/tensor.h"
#include "support/located.h"

namespace qc {
namespace {

bool ends_with(const std::string& s, std::string_view tail) {
  return s.size() >= tail.size() && s.compare(s.size() - tail.size(), tail.size(), tail) == 0;
}

const Tensor* find(const std::vector<NamedArray>& arrays, const std::string& name) {
  for (const NamedArray& a : arrays) {
    if (a.name == name) return &a.tensor;
  }
  return nullptr;
}

/// The array under the value's type where only numpy's lack of that type stands between.
Tensor adapted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype || bytes(t.dtype()) != bytes(dtype)) return t;
  const bool raw = dtype == DType::bf16 || bytes(dtype) == 1;
  if (!raw || is_float(t.dtype()) || (is_integer(dtype) && bits(dtype) == 8)) return t;
  return Tensor::borrow(dtype, t.shape(), t.bytes(), std::make_shared<Tensor>(t));
}

std::string known_names(const std::vector<NamedArray>& arrays) {
  std::string out;
  for (const NamedArray& a : arrays) out += (out.empty() ? "" : ", ") + a.name;
  return out.empty() ? "none" : out;
}

}  // namespace

Result<std::vector<NamedArray>> read_arrays(const std::string& path) {
  if (ends_with(path, ".npz")) return read_npz(path);
  if (ends_with(path, ".npy")) {
    QC_ASSIGN(Tensor t, read_npy(path));
    return std::vector<NamedArray>{{"in_0", std::move(t)}};
  }
  if (ends_with(path, ".pb")) {
    QC_ASSIGN(onnx::NamedTensor loaded, onnx::read_tensor_file(path));
    return std::vector<NamedArray>{{"in_0", std::move(loaded.tensor)}};
  }
  return error(Code::usage, Loc{path, {}, {}}, "arrays are read from .npz, .npy and .pb files");
}

Result<std::vector<NamedArray>> read_arrays(const std::vector<std::string>& paths) {
  std::vector<NamedArray> out;
  size_t single = 0;
  for (const std::string& path : paths) {
    QC_ASSIGN(auto arrays, read_arrays(path));
    if (!ends_with(path, ".npz")) arrays[0].name = fmt::format("in_{}", single++);
    for (NamedArray& a : arrays) out.push_back(std::move(a));
  }
  return out;
}

Result<std::vector<Tensor>> match_inputs(const Graph& graph,
                                         const std::vector<NamedArray>& arrays) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value* v = graph.inputs()[i];
    const Tensor* t = find(arrays, v->name());
    if (!t) t = find(arrays, fmt::format("in_{}", i));
    if (!t) {
      return error(Code::input, Loc{graph.file, {}, {}},
                   "no array for input '{}': name it so, or in_{} (given: {})", v->name(), i,
                   known_names(arrays));
    }
    out.push_back(adapted(*t, v->dtype()));
  }
  return out;
}

Result<std::vector<Tensor>> match_outputs(const Graph& graph,
                                          const std::vector<NamedArray>& arrays) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output& o = graph.outputs()[i];
    const Tensor* t = find(arrays, o.name);
    if (!t) t = find(arrays, fmt::format("out_{}", i));
    if (!t) {
      return error(Code::input, Loc{graph.file, {}, {}},
                   "no expected array for output '{}': name it so, or out_{} (given: {})", o.name,
                   i, known_names(arrays));
    }
    out.push_back(adapted(*t, o.value->dtype()));
  }
  return out;
}

Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  auto uniform = [&] {  // splitmix64
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  };
  Bindings hints;
  for (const std::string& symbol : graph.symbols()) {
    auto it = graph.dim_ranges.find(symbol);
    int64_t size = 2;
    if (it != graph.dim_ranges.end()) {
      size = it->second.hint.value_or(std::max<int64_t>(it->second.min, 2));
    }
    hints[symbol] = size;
  }
  std::vector<Tensor> out;
  for (const Value* v : graph.inputs()) {
    Dims shape = v->shape();
    for (Dim& d : shape) d = d.substitute(hints);
    QC_TRY(located(checked_bytes(v->dtype(), static_dims(shape)),
                   Loc{graph.file, {v->name()}, "input"}));
    Tensor t(v->dtype(), static_dims(shape));
    for (int64_t i = 0; i < t.size(); ++i) {
      if (v->dtype() == DType::boolean)
        t.set_int(i, uniform() < 0.5 ? 0 : 1);
      else if (is_float(v->dtype()))
        t.set_double(i, uniform() + uniform() + uniform() + uniform() - 2.0);
      else
        t.set_int(i, static_cast<int64_t>(uniform() * 4));
    }
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace qc
