#include <fmt/format.h>

#include <algorithm>

#include "driver/inspect.h"
#include "driver/layers.h"
#include "driver/qparams.h"
#include "support/escape.h"
#include "support/json_text.h"
#include "support/wrap.h"

namespace qc {
namespace {

std::string grouped(int64_t n) {
  std::string digits = std::to_string(n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

struct Row {
  std::string name, op, result, parameters, macs, bytes;
};

Row row_of(const Layer& layer) {
  const std::string name = std::string(2 * static_cast<size_t>(layer.depth), ' ') +
                           shown(fmt::format("{}", fmt::join(layer.names, "+")));
  return {name,
          layer.op,
          fmt::format("{}", fmt::join(layer.results, ", ")),
          grouped(layer.parameters),
          grouped(layer.macs),
          grouped(layer.bytes)};
}

/// Columns as wide as what they hold, within bounds; names take what is left of the width, and a
/// longer one has a line of its own.
std::string aligned(const std::vector<Row>& rows, size_t width) {
  auto widest = [&](std::string Row::*cell, size_t most) {
    size_t out = 0;
    for (const Row& r : rows) out = std::max(out, (r.*cell).size());
    return std::min(out, most);
  };
  const size_t op = widest(&Row::op, 16), result = widest(&Row::result, 26),
               parameters = widest(&Row::parameters, 18), macs = widest(&Row::macs, 24),
               bytes = widest(&Row::bytes, 24);
  const size_t others = op + result + parameters + macs + bytes + 5;
  const size_t name =
      std::clamp<size_t>(widest(&Row::name, width), 8, width > others + 8 ? width - others : 8);
  std::string out;
  for (const Row& r : rows) {
    std::string front = clipped(r.name, width);
    if (front.size() > name) {
      out += front + "\n";
      front.clear();
    }
    out += fmt::format("{:<{}} {:<{}} {:<{}} {:>{}} {:>{}} {:>{}}\n", front, name,
                       clipped(r.op, op), op, clipped(r.result, result), result, r.parameters,
                       parameters, r.macs, macs, r.bytes, bytes);
  }
  return out;
}

std::string sizes_text(const Layers& layers) {
  std::vector<std::string> parts;
  for (const auto& [symbol, size] : layers.sizes)
    parts.push_back(fmt::format("{} = {}", symbol, size));
  return parts.empty() ? "" : fmt::format(" for {}", fmt::join(parts, ", "));
}

std::string port(const std::string& name, const Type& type) {
  std::vector<std::string> shape;
  for (const Dim& d : type.shape)
    shape.push_back(d.is_static() ? json_number(d.value()) : json_string(d.str()));
  return JsonObject()
      .add("name", json_string(name))
      .add("type", json_string(qc::name(type.dtype)))
      .add("shape", json_array(shape))
      .line();
}

}  // namespace

std::string summary(const Graph& graph, size_t width) {
  std::string out;
  auto port_line = [&](const char* kind, const std::string& name, const Type& type) {
    const std::string front = fmt::format("{:<8}{:<30} ", kind, shown(name));
    const bool fits = front.size() + str(type).size() <= width;
    out += (fits ? front : front + "\n        ") + str(type) + "\n";
  };
  for (const Value* v : graph.inputs()) port_line("input", v->name(), v->type());
  for (const State& s : graph.states()) port_line("state", s.name, s.in->type());
  for (const Output& o : graph.outputs()) port_line("output", o.name, o.value->type());
  const Layers layers = layers_of(graph);
  std::vector<Row> rows = {{"layer", "op", "result", "parameters", "MACs", "bytes"}};
  for (const Layer& layer : layers.all) rows.push_back(row_of(layer));
  out += "\n" + aligned(rows, width);
  const std::string totals = fmt::format(
      "{} node{}, {} parameters, {} multiply-accumulates, {} bytes of results{}",
      grouped(static_cast<int64_t>(layers.all.size())), layers.all.size() == 1 ? "" : "s",
      grouped(layers.parameters), grouped(layers.macs), grouped(layers.bytes), sizes_text(layers));
  return out + "\n" + wrapped("", totals, width);
}

std::string summary_json(const Graph& graph) {
  std::vector<std::string> inputs, states, outputs, rows;
  for (const Value* v : graph.inputs()) inputs.push_back(port(v->name(), v->type()));
  for (const State& s : graph.states()) states.push_back(port(s.name, s.in->type()));
  for (const Output& o : graph.outputs()) outputs.push_back(port(o.name, o.value->type()));
  const Layers layers = layers_of(graph);
  for (const Layer& l : layers.all) {
    rows.push_back(JsonObject()
                       .add("names", json_strings(l.names))
                       .add("op", json_string(l.op))
                       .add("computes", json_string(name(l.computes)))
                       .add("results", json_strings(l.results))
                       .add("result_qparams", qparams_json(l.result_types))
                       .add("parameters", json_number(l.parameters))
                       .add("macs", json_number(l.macs))
                       .add("bytes", json_number(l.bytes))
                       .add("depth", json_number(int64_t{l.depth}))
                       .line());
  }
  JsonObject sizes;
  for (const auto& [symbol, size] : layers.sizes) sizes.add(symbol, json_number(size));
  return JsonObject()
      .add("model", json_string(graph.file))
      .add("inputs", json_array(inputs, true))
      .add("states", json_array(states, true))
      .add("outputs", json_array(outputs, true))
      .add("layers", json_array(rows, true))
      .add("sizes", sizes.line())
      .add("totals", JsonObject()
                         .add("nodes", json_number(static_cast<int64_t>(layers.all.size())))
                         .add("parameters", json_number(layers.parameters))
                         .add("macs", json_number(layers.macs))
                         .add("bytes", json_number(layers.bytes))
                         .line())
      .lines();
}

}  // namespace qc
