#include "driver/layer_errors.h"

#include <fmt/format.h>

#include "driver/explain.h"
#include "interp/interpreter.h"

namespace qc {
namespace {

NamedResults::Key key(const LayerResult& r) {
  const std::vector<std::string>& names = r.node->loc().names;
  return {names.empty() ? "" : names.back(), r.result};
}

}  // namespace

Result<std::vector<LayerResult>> layer_results(const Graph& graph,
                                               const std::vector<Tensor>& inputs) {
  std::map<const Value*, Tensor> seen;
  RunOptions watch;
  watch.observe = [&](const Value& v, const Tensor& t) { seen[&v] = t; };
  QC_TRY(interpret(graph, inputs, watch));
  std::vector<LayerResult> out;
  for (const Node* n = graph.first(); n; n = n->next()) {
    if (computes(*n) == Computes::converts) continue;
    for (size_t i = 0; i < n->output_count(); ++i) {
      const auto found = seen.find(n->output(i));
      if (found == seen.end()) continue;
      auto floats = as_floats(found->second, n->output(i)->type());
      if (floats) out.push_back({n, i, std::move(*floats)});
    }
  }
  return out;
}

std::string LayerComparison::name() const {
  const std::string joined = fmt::format("{}", fmt::join(names, "+"));
  return result == 0 ? joined : fmt::format("{}#{}", joined, result);
}

Result<NamedResults> named_results(const Graph& graph, const std::vector<Tensor>& inputs) {
  QC_ASSIGN(std::vector<LayerResult> all, layer_results(graph, inputs));
  NamedResults out;
  for (LayerResult& c : all) {
    const std::vector<std::string>& names = c.node->loc().names;
    for (size_t i = 0; i + 1 < names.size(); ++i) out.within[{names[i], c.result}] = key(c);
    out.of[key(c)].push_back(std::move(c.floats));
  }
  return out;
}

Result<Ok> LayerErrors::see(const std::vector<Tensor>& inputs, const NamedResults& wanted) {
  QC_ASSIGN(const std::vector<LayerResult> all, layer_results(graph_, inputs));
  const auto partner_of = [&](const LayerResult& c) {
    const auto within = wanted.of.count(key(c)) ? wanted.within.end() : wanted.within.find(key(c));
    return within == wanted.within.end() ? key(c) : within->second;
  };
  std::map<NamedResults::Key, size_t> own, met;
  for (const LayerResult& c : all) ++own[partner_of(c)];
  const bool first = layers_.empty();
  size_t row = 0;
  for (const LayerResult& c : all) {
    const NamedResults::Key partner = partner_of(c);
    const size_t at = met[partner]++;
    const auto there = wanted.of.find(partner);
    const size_t count = there == wanted.of.end() ? 0 : there->second.size();
    // A layer that became several computes what the other has in the last of them.
    const bool last = at + 1 == own[partner];
    if (count == 1 && !last) continue;
    if (first)
      layers_.push_back({against_, c.node->loc().names, std::string(c.node->op()), c.result, {}});
    LayerComparison& layer = layers_[row++];
    if (count != 1 && count != own[partner]) continue;
    const Tensor& result = there->second[count == 1 ? 0 : at];
    // Codes whose scale is not known are no floats.
    if (result.shape() != c.floats.shape() ||
        is_float(result.dtype()) != is_float(c.floats.dtype())) {
      continue;
    }
    if (!layer.error) layer.error.emplace();
    layer.error->see(result, c.floats);
  }
  return Ok{};
}

}  // namespace qc
