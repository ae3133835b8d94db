#include "driver/given_inputs.h"

#include <fmt/format.h>

#include <charconv>

#include "driver/arrays.h"
#include "support/suggest.h"

namespace qc {
namespace {

Result<const Value*> find_input(const Graph& model, const std::string& name, const char* flag) {
  std::vector<std::string> names;
  for (const Value* v : model.inputs()) {
    if (v->name() == name) return v;
    names.push_back(v->name());
  }
  return error(Code::usage, Loc{model.file, {}, {}}, "{} {}: the model has no such input, but {}{}",
               flag, name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
               did_you_mean(name, names));
}

Result<Ok> apply_shape(const Graph& model, const std::string& name,
                       const std::vector<int64_t>& sizes, Bindings& dims) {
  QC_ASSIGN(const Value* input, find_input(model, name, "--shape"));
  auto wrong = [&](const std::string& why) {
    return error(Code::dim, Loc{model.file, {name}, "input"}, "--shape {}={}: {}", name,
                 fmt::join(sizes, ","), why);
  };
  if (static_cast<int64_t>(sizes.size()) != input->rank())
    return wrong(fmt::format("the input is {}", str(input->type())));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dim& dim = input->shape()[i];
    if (dim.is_static()) {
      if (dim.value() != sizes[i]) return wrong(fmt::format("axis {} is {}", i, dim.value()));
      continue;
    }
    if (!(dim == Dim::symbol(dim.str()))) continue;  // follows from the symbols in it
    const auto [it, fresh] = dims.emplace(dim.str(), sizes[i]);
    if (!fresh && it->second != sizes[i])
      return wrong(fmt::format("axis {} is '{}', which is {} elsewhere", i, dim.str(), it->second));
  }
  return Ok{};
}

/// "3", "-0.5", "true"; nothing for other text.
std::optional<double> number(std::string_view text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data(), end, value);
  if (text.empty() || bad != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// Every element of the input is the number.
Result<Tensor> filled(const Value& input, double value, const Bindings& dims, const Loc& loc) {
  std::vector<int64_t> shape;
  for (const Dim& dim : input.shape()) {
    const Dim size = dim.substitute(dims);
    if (!size.is_static()) {
      return error(Code::dim, loc, "--const {}: its size '{}' is open: give --dim {}=SIZE too",
                   input.name(), size.str(), size.str());
    }
    shape.push_back(size.value());
  }
  QC_TRY(checked_bytes(input.dtype(), shape));
  Tensor out(input.dtype(), std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) {
    if (is_float(out.dtype())) {
      out.set_double(i, value);
    } else {
      out.set_int(i, static_cast<int64_t>(value));
    }
  }
  if (out.size() > 0 && !is_float(out.dtype()) && static_cast<double>(out.as_int(0)) != value) {
    return error(Code::type, loc, "--const {}={}: the input is {}", input.name(), value,
                 name(out.dtype()));
  }
  return out;
}

Result<Tensor> constant(const Graph& model, const std::string& name, const std::string& text,
                        const Bindings& dims) {
  QC_ASSIGN(const Value* input, find_input(model, name, "--const"));
  const Loc loc{model.file, {name}, "input"};
  if (const auto value = number(text)) return filled(*input, *value, dims, loc);
  QC_ASSIGN(const auto arrays, read_arrays({text}));
  const NamedArray* found = arrays.size() == 1 ? &arrays[0] : nullptr;
  for (const NamedArray& a : arrays) {
    if (a.name == name) found = &a;
  }
  if (!found) return error(Code::input, Loc{text, {}, {}}, "no array is named '{}'", name);
  const Tensor tensor = adapted(found->tensor, input->dtype());
  bool fits = tensor.dtype() == input->dtype() && tensor.rank() == input->rank();
  for (size_t i = 0; fits && i < input->shape().size(); ++i) {
    const Dim size = input->shape()[i].substitute(dims);
    fits = !size.is_static() || size.value() == tensor.shape()[i];
  }
  if (fits) return tensor;
  return error(Code::input, loc, "--const {}: the input is {}, the array {}", name,
               str(input->type()), str(Type(tensor.dtype(), to_dims(tensor.shape()))));
}

}  // namespace

Result<Ok> apply_given(const Graph& model, const quantc::Options& options, ImportOptions& import) {
  for (const auto& [name, sizes] : options.shapes)
    QC_TRY(apply_shape(model, name, sizes, import.dims));
  for (const auto& [name, text] : options.constants) {
    QC_ASSIGN(Tensor tensor, constant(model, name, text, import.dims));
    import.constants.emplace(name, std::move(tensor));
  }
  // Dimensions that only inputs had which are constants now are no longer there to be given.
  std::set<std::string> gone, left;
  for (const Value* v : model.inputs()) {
    std::set<std::string>& symbols = import.constants.count(v->name()) ? gone : left;
    for (const Dim& dim : v->shape()) dim.collect_symbols(symbols);
  }
  std::erase_if(import.dims, [&](const auto& dim) {
    return gone.count(dim.first) > 0 && left.count(dim.first) == 0;
  });
  return Ok{};
}

std::string location_of(const Graph& graph, const std::string& symbol) {
  std::string out;
  for (const Value* v : graph.inputs()) {
    for (size_t i = 0; i < v->shape().size() && out.empty(); ++i) {
      if (v->shape()[i] == Dim::symbol(symbol)) out = fmt::format("axis {} of '{}'", i, v->name());
    }
  }
  const auto range = graph.dim_ranges.find(symbol);
  if (range != graph.dim_ranges.end() && range->second.hint)
    out += fmt::format("{}such as {}", out.empty() ? "" : ", ", *range->second.hint);
  return out;
}

}  // namespace qc
