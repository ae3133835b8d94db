#include "driver/layers.h"

#include <algorithm>
#include <set>

#include "support/checked.h"

namespace qc {
namespace {

int64_t elements(const Type& type) {
  int64_t n = 1;
  for (const Dim& d : type.shape) n = saturating_mul(n, d.is_static() ? d.value() : 1);
  return n;
}

/// `sized` is a copy of `graph` with numbers for all symbols, or the graph itself.
void visit(const Graph& graph, const Graph& sized, int depth, std::set<ConstId>& counted,
           Layers& out) {
  const Node* twin = sized.first();
  for (const Node* n = graph.first(); n && twin; n = n->next(), twin = twin->next()) {
    Layer layer;
    layer.names = n->loc().names;
    layer.op = n->op();
    layer.computes = computes(*n);
    layer.macs = twin->macs();
    layer.depth = depth;
    for (const Value* v : n->inputs()) {
      if (v && v->is_constant() && counted.insert(v->constant()).second)
        layer.parameters += elements(v->type());
    }
    for (size_t i = 0; i < n->output_count(); ++i) {
      const Type& type = n->output(i)->type();
      const auto size = static_cast<int64_t>(bytes(type.dtype));
      layer.results.push_back(std::string(name(type.dtype)) + str(type.shape));
      layer.result_types.push_back(type.quant());
      layer.bytes =
          saturating_add(layer.bytes, saturating_mul(elements(twin->output(i)->type()), size));
    }
    out.parameters += layer.parameters;
    out.macs = saturating_add(out.macs, layer.macs);
    out.bytes = saturating_add(out.bytes, layer.bytes);
    out.all.push_back(std::move(layer));
    for (size_t i = 0; i < n->regions().size(); ++i)
      visit(*n->regions()[i], *twin->regions()[i], depth + 1, counted, out);
  }
}

size_t node_count(const Graph& graph) {
  size_t out = 0;
  for (const Node* n = graph.first(); n; n = n->next()) ++out;
  return out;
}

}  // namespace

Layers layers_of(const Graph& graph) {
  Layers out;
  for (const std::string& symbol : graph.symbols()) {
    const auto range = graph.dim_ranges.find(symbol);
    const bool known = range != graph.dim_ranges.end();
    out.sizes[symbol] =
        !known ? 1 : range->second.hint.value_or(std::max<int64_t>(range->second.min, 1));
  }
  std::unique_ptr<Graph> sized;
  if (!out.sizes.empty()) {
    auto copied = copy(graph);
    const bool bound =
        copied.ok() && (*copied)->bind(Bindings(out.sizes.begin(), out.sizes.end())).ok();
    if (bound && node_count(**copied) == node_count(graph)) sized = std::move(*copied);
    if (!sized) out.sizes.clear();
  }
  std::set<ConstId> counted;
  visit(graph, sized ? *sized : graph, 0, counted, out);
  return out;
}

}  // namespace qc
