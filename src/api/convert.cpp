#include "api/convert.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/arrays.h"

namespace quantc {

Diagnostic converted(const qc::Diag& diag) {
  Diagnostic out;
  out.kind = static_cast<Kind>(qc::exit_status(diag));
  out.code = qc::info(diag.code).name;
  out.file = diag.loc.file;
  out.nodes = diag.loc.names;
  out.op = diag.loc.op;
  out.text = diag.text;
  out.notes = diag.notes;
  out.message = qc::render(diag);
  return out;
}

qc::Result<qc::Tensor> tensor_of(const ArrayView& view) {
  const auto dtype = qc::parse_dtype(view.type);
  if (!dtype) {
    return qc::error(qc::Code::input, "array '{}' has the unknown type '{}'", view.name, view.type);
  }
  QC_ASSIGN(const int64_t bytes, qc::checked_bytes(*dtype, view.shape));
  if (bytes != static_cast<int64_t>(view.bytes)) {
    return qc::error(qc::Code::input, "array '{}' has {} bytes, its shape needs {}", view.name,
                     view.bytes, bytes);
  }
  const auto* data = static_cast<const std::byte*>(view.data);
  if (*dtype == qc::DType::boolean &&
      std::any_of(data, data + view.bytes, [](std::byte b) { return b > std::byte{1}; })) {
    return qc::error(qc::Code::input, "array '{}' holds a bool that is neither 0 nor 1", view.name);
  }
  return qc::Tensor::borrow(*dtype, view.shape, {data, view.bytes}, nullptr);
}

Array array_of(std::string name, const qc::Tensor& tensor) {
  return {std::move(name),
          std::string(qc::name(tensor.dtype())),
          tensor.shape(),
          {tensor.bytes().begin(), tensor.bytes().end()}};
}

Port port_of(const std::string& name, const qc::Type& type) {
  Port out{name, std::string(qc::name(type.dtype)), {}};
  for (const qc::Dim& d : type.shape) out.shape.push_back(d.str());
  return out;
}

std::vector<Port> input_ports(const qc::Graph& graph) {
  std::vector<Port> out;
  for (const qc::Value* v : graph.inputs()) out.push_back(port_of(v->name(), v->type()));
  return out;
}

std::vector<Port> output_ports(const qc::Graph& graph) {
  std::vector<Port> out;
  for (const qc::Output& o : graph.outputs()) out.push_back(port_of(o.name, o.value->type()));
  return out;
}

qc::Result<std::vector<qc::Tensor>> inputs_of(const qc::Graph& graph, const ArrayViews& views,
                                              std::vector<std::string>* notes) {
  if (views.size() != graph.inputs().size()) {
    return qc::error(qc::Code::input, qc::Loc{graph.file, {}, {}},
                     "the model takes {} arrays, got {}", graph.inputs().size(), views.size());
  }
  std::vector<qc::NamedArray> arrays;
  for (size_t i = 0; i < views.size(); ++i) {
    QC_ASSIGN(qc::Tensor t, tensor_of(views[i]));
    arrays.push_back(
        {views[i].name.empty() ? fmt::format("in_{}", i) : views[i].name, std::move(t)});
  }
  return qc::match_inputs(graph, arrays, notes);
}

qc::Result<qc::Samples> samples_of(const qc::Graph& graph, const Options& options,
                                   const ArrayViews& views) {
  const size_t inputs = graph.inputs().size();
  if (views.empty() || inputs == 0 || views.size() % inputs != 0) {
    return qc::error(qc::Code::input, qc::Loc{graph.file, {}, {}},
                     "the model takes {} arrays of samples, got {}", inputs, views.size());
  }
  std::vector<qc::ArraySet> sets(views.size() / inputs);
  for (size_t i = 0; i < views.size(); ++i) {
    QC_ASSIGN(qc::Tensor t, tensor_of(views[i]));
    sets[i / inputs].emplace_back(qc::NamedArray{
        views[i].name.empty() ? fmt::format("in_{}", i % inputs) : views[i].name, std::move(t)});
  }
  return qc::Samples::open(graph, std::move(sets),
                           qc::Bindings(options.dims.begin(), options.dims.end()), true);
}

}  // namespace quantc
