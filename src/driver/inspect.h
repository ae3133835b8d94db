// Looking at a model: tables, names, pictures.
#pragma once

#include <string>

#include "ir/graph.h"

namespace qc {

/// Inputs, outputs, one row per node (name, op, result shape, parameters, multiply-accumulates,
/// bytes of the result) and totals, in so many columns.
std::string summary(const Graph& graph, size_t width);
/// The same as docs/schema/inspect.json describes.
std::string summary_json(const Graph& graph);
/// The model's own names of every node, one line each: name, op.
std::string names(const Graph& graph);
/// The graph in Graphviz's language; colours say what computes on integers and what in float.
std::string dot(const Graph& graph);
/// A picture through Graphviz's `dot`.
Result<std::string> svg(const Graph& graph);

/// Supported ops as Markdown: op, what it does, ONNX and ATen names.
std::string ops_markdown();

}  // namespace qc
