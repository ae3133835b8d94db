#include "driver/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "arrays/npy.h"
#include "frontends/onnx/tensor.h"
#include "support/budget.h"
#include "support/located.h"

namespace qc {
namespace {

bool ends_with(const std::string& s, std::string_view tail) {
  return s.size() >= tail.size() && s.compare(s.size() - tail.size(), tail.size(), tail) == 0;
}

std::vector<std::string> names_of(const std::vector<NamedArray>& arrays) {
  std::vector<std::string> out;
  for (const NamedArray& a : arrays) out.push_back(a.name);
  return out;
}

/// The place of the value's own name among `names`, or of the general one.
std::optional<size_t> find(const std::vector<std::string>& names, const std::string& own,
                           const std::string& general) {
  for (const std::string& name : {own, general}) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it != names.end()) return static_cast<size_t>(it - names.begin());
  }
  return std::nullopt;
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool widens(DType from, DType to) {
  return to == DType::i64 && is_integer(from) && from != DType::boolean && bits(from) <= 32;
}

namespace {
Tensor widened(const Tensor& t) {
  Tensor out(DType::i64, t.shape());
  for (int64_t i = 0; i < t.size(); ++i) out.set_int(i, t.as_int(i));
  return out;
}
}  // namespace

Tensor adapted(const Tensor& t, DType dtype) {
  if (widens(t.dtype(), dtype)) return widened(t);
  if (t.dtype() == dtype || bytes(t.dtype()) != bytes(dtype)) return t;
  const bool raw = dtype == DType::bf16 || bytes(dtype) == 1;
  if (!raw || is_float(t.dtype()) || (is_integer(dtype) && bits(dtype) == 8)) return t;
  return Tensor::borrow(dtype, t.shape(), t.bytes(), std::make_shared<Tensor>(t));
}

namespace {
/// The arrays of one file; a single one has the name that the file says, or none.
Result<std::vector<NamedArray>> read_file(const std::string& path) {
  if (ends_with(path, ".npz")) return read_npz(path);
  if (ends_with(path, ".npy")) {
    QC_ASSIGN(Tensor t, read_npy(path));
    return std::vector<NamedArray>{{"", std::move(t)}};
  }
  if (ends_with(path, ".pb")) {
    QC_ASSIGN(onnx::NamedTensor loaded, onnx::read_tensor_file(path));
    return std::vector<NamedArray>{{std::move(loaded.name), std::move(loaded.tensor)}};
  }
  return error(Code::usage, Loc{path, {}, {}}, "arrays are read from .npz, .npy and .pb files");
}
}  // namespace

namespace {

bool is_archive(const std::string& path) { return ends_with(path, ".npz"); }

const std::string& name_of(const NamedArray& a) { return a.name; }
const std::string& name_of(const ArrayStream& a) { return a.name(); }

/// Puts the arrays of files into sets.
template <class Array>
class Sets {
 public:
  explicit Sets(size_t count) : count_(count) {}

  /// Where the next file of one array has its place in the set that it belongs to.
  size_t position() {
    if (single_ == count_) begin();
    return single_++;
  }
  void add(std::vector<Array> arrays) {
    if (std::any_of(arrays.begin(), arrays.end(), [&](const Array& a) { return has(name_of(a)); }))
      begin();
    for (Array& a : arrays) sets_.back().push_back(std::move(a));
  }
  std::vector<std::vector<Array>> take() { return std::move(sets_); }

 private:
  bool has(const std::string& name) const {
    const auto& set = sets_.back();
    return std::any_of(set.begin(), set.end(), [&](const Array& a) { return name_of(a) == name; });
  }
  void begin() {
    sets_.emplace_back();
    single_ = 0;
  }

  const size_t count_;
  size_t single_ = 0;
  std::vector<std::vector<Array>> sets_{1};
};

}  // namespace

Result<std::vector<std::vector<NamedArray>>> read_array_sets(const std::vector<std::string>& paths,
                                                             Role role, size_t count) {
  Sets<NamedArray> out(count);
  for (const std::string& path : paths) {
    QC_ASSIGN(auto arrays, read_file(path));
    if (!is_archive(path)) {
      const char* prefix = role == Role::inputs ? "in" : "out";
      NamedArray by_position{fmt::format("{}_{}", prefix, out.position()), arrays[0].tensor};
      if (arrays[0].name.empty()) arrays.clear();
      arrays.push_back(std::move(by_position));
    }
    out.add(std::move(arrays));
  }
  return out.take();
}

Result<std::vector<NamedArray>> read_arrays(const std::vector<std::string>& paths, Role role) {
  QC_ASSIGN(auto sets, read_array_sets(paths, role, SIZE_MAX));
  std::vector<NamedArray> out;
  for (auto& set : sets) {
    for (NamedArray& a : set) out.push_back(std::move(a));
  }
  return out;
}

Result<std::vector<ArraySet>> open_arrays(const std::vector<std::string>& paths, size_t inputs) {
  Sets<ArrayStream> out(inputs);
  for (const std::string& path : paths) {
    ArraySet streams;
    if (is_archive(path)) {
      QC_ASSIGN(streams, ArrayStream::open_npz(path));
    } else if (ends_with(path, ".npy")) {
      QC_ASSIGN(ArrayStream stream, ArrayStream::open_npy(path));
      streams.push_back(std::move(stream));
    } else {
      QC_ASSIGN(auto arrays, read_file(path));
      streams.emplace_back(std::move(arrays[0]));
    }
    if (!is_archive(path)) streams[0].rename(fmt::format("in_{}", out.position()));
    out.add(std::move(streams));
  }
  return out.take();
}

Result<std::vector<size_t>> match_inputs(const Graph& graph,
                                         const std::vector<std::string>& names) {
  std::vector<size_t> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& own = graph.inputs()[i]->name();
    const auto at = find(names, own, fmt::format("in_{}", i));
    if (!at) {
      return error(Code::input, Loc{graph.file, {}, {}},
                   "no array for input '{}': name it so, or in_{} (given: {})", own, i,
                   list(names));
    }
    out.push_back(*at);
  }
  return out;
}

Result<std::vector<Tensor>> match_inputs(const Graph& graph, const std::vector<NamedArray>& arrays,
                                         std::vector<std::string>* notes) {
  QC_ASSIGN(const std::vector<size_t> at, match_inputs(graph, names_of(arrays)));
  std::vector<Tensor> out;
  for (size_t i = 0; i < at.size(); ++i) {
    const Value& input = *graph.inputs()[i];
    const Tensor& given = arrays[at[i]].tensor;
    if (notes && widens(given.dtype(), input.dtype()))
      notes->push_back(cast_note(input, given.dtype()));
    out.push_back(adapted(given, input.dtype()));
  }
  return out;
}

std::string cast_note(const Value& input, DType given) {
  return fmt::format("input '{}' is {}, elements of {} are cast: give them as {} to save the copy",
                     input.name(), name(input.dtype()), name(given), name(input.dtype()));
}

Result<std::vector<Tensor>> match_outputs(const Graph& graph,
                                          const std::vector<NamedArray>& arrays) {
  const std::vector<std::string> names = names_of(arrays);
  std::vector<Tensor> out;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output& o = graph.outputs()[i];
    const auto at = find(names, o.name, fmt::format("out_{}", i));
    if (!at) {
      return error(Code::input, Loc{graph.file, {}, {}},
                   "no expected array for output '{}': name it so, or out_{} (given: {})", o.name,
                   i, list(names));
    }
    out.push_back(adapted(arrays[*at].tensor, o.value->dtype()));
  }
  return out;
}

Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed) {
  const Doing doing("making inputs");
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
      else if (const Format* codes = v->type().format.get())
        t.set_int(
            i, codes->qmin + static_cast<int64_t>(
                                 uniform() * static_cast<double>(codes->qmax - codes->qmin + 1)));
      else
        t.set_int(i, static_cast<int64_t>(uniform() * 4));
    }
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace qc
