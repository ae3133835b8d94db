// Between the library's face and the inside.
#pragma once

#include "driver/samples.h"
#include "ir/graph.h"
#include "quantc/array.h"
#include "quantc/diagnostic.h"
#include "quantc/options.h"

namespace quantc {

Diagnostic converted(const qc::Diag& diag);

template <class T>
Expected<T> converted(qc::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  return converted(result.diag());
}

/// The view's elements, which must stay where they are as long as the tensor is used.
qc::Result<qc::Tensor> tensor_of(const ArrayView& view);
Array array_of(std::string name, const qc::Tensor& tensor);
Port port_of(const std::string& name, const qc::Type& type);
std::vector<Port> input_ports(const qc::Graph& graph);
std::vector<Port> output_ports(const qc::Graph& graph);

/// The results of `run(allocate)`, which gives views of what it allocated, as arrays of their own.
template <class Run>
Expected<std::vector<Array>> owned(Run&& run) {
  std::vector<std::vector<std::byte>> memory;
  auto views = run([&](size_t bytes) -> void* { return memory.emplace_back(bytes).data(); });
  if (!views) return views.diagnostic();
  std::vector<Array> out;
  for (size_t i = 0; i < views->size(); ++i) {
    ArrayView& v = (*views)[i];
    out.push_back({std::move(v.name), std::move(v.type), std::move(v.shape), std::move(memory[i])});
  }
  return out;
}

/// One tensor for each input of the graph: by name, as in_0, in_1, ... or by place. An array too
/// many or too few is an error. `notes` takes what is cast.
qc::Result<std::vector<qc::Tensor>> inputs_of(const qc::Graph& graph, const ArrayViews& views,
                                              std::vector<std::string>* notes = nullptr);

/// Samples along axis 0 of an array for each input; NaN in them is an error.
qc::Result<qc::Samples> samples_of(const qc::Graph& graph, const Options& options,
                                   const ArrayViews& views);

}  // namespace quantc
