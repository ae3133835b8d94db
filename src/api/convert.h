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

/// One tensor for each input of the graph: by name, as in_0, in_1, ... or by place. An array too
/// many or too few is an error.
qc::Result<std::vector<qc::Tensor>> inputs_of(const qc::Graph& graph, const ArrayViews& views);

/// Samples along axis 0 of an array for each input; NaN in them is an error.
qc::Result<qc::Samples> samples_of(const qc::Graph& graph, const Options& options,
                                   const ArrayViews& views);

}  // namespace quantc
