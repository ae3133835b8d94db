#include "driver/analyze.h"

#include "api/state.h"
#include "driver/inspect.h"

namespace quantc {
namespace {

using qc::Result;

ErrorReport error_of(const qc::LayerError& e) { return {e.sqnr_db(), e.cosine(), e.max_abs}; }

LayerReport layer_of(const qc::LayerAnalysis& l) {
  LayerReport out;
  out.names = l.names;
  out.op = l.op;
  out.rule = l.rule;
  out.format = l.format;
  if (l.alone) out.alone = error_of(*l.alone);
  out.cumulative = error_of(l.cumulative);
  out.least = l.least;
  out.greatest = l.greatest;
  out.elements = l.elements;
  out.saturated = l.saturated;
  out.histogram = l.histogram;
  out.suggestion = l.suggestion;
  return out;
}

}  // namespace

Expected<Analysis> Model::analyze(const ArrayViews& views, const std::string& title) const {
  return state_->alone([&]() -> Result<Analysis> {
    const qc::Graph& graph = *state_->network->graph;
    QC_ASSIGN(qc::Samples samples, samples_of(graph, state_->options, views));
    QC_ASSIGN(const auto quantized, state_->forms.contract_for(samples.first()));
    QC_ASSIGN(auto plain, qc::copy(graph));
    Options options = qc::without_rules(state_->options);
    QC_TRY(qc::add_dims_of(graph, samples.first(), options));
    QC_TRY(qc::make_contract(*plain, options));
    QC_ASSIGN(const qc::Analysis found,
              qc::analyze(*plain, *quantized->graph, quantized->context, std::move(samples)));
    Analysis out;
    for (const qc::LayerAnalysis& l : found.layers) out.layers.push_back(layer_of(l));
    out.runs = found.runs;
    out.table = qc::table(found);
    out.json = qc::json(found);
    if (!title.empty()) {
      auto picture = qc::svg(*quantized->graph);  // without Graphviz there is none
      out.page = qc::html(found, title, picture.ok() ? *picture : "");
    }
    return out;
  });
}

}  // namespace quantc
