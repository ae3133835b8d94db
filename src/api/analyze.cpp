#include "driver/analyze.h"

#include <fmt/format.h>

#include "api/state.h"
#include "driver/analyze_page.h"
#include "driver/compile.h"
#include "driver/layer_errors.h"

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

/// What is not f32 as f64: integers of up to 53 bits stay what they are.
qc::Tensor widened(const qc::Tensor& tensor) {
  if (tensor.dtype() == qc::DType::f32) return tensor;
  qc::Tensor out(qc::DType::f64, tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) out.set_double(i, tensor.as_double(i));
  return out;
}

}  // namespace

Expected<std::vector<LayerValue>> Model::layers(const ArrayViews& views) const {
  return state_->alone([&]() -> Result<std::vector<LayerValue>> {
    QC_ASSIGN(const auto inputs, inputs_of(*state_->network->graph, views));
    QC_ASSIGN(const auto contract, state_->program_cache.contract_for(inputs));
    QC_ASSIGN(const auto results, qc::layer_results(*contract->graph, inputs));
    std::vector<LayerValue> out;
    for (const qc::LayerResult& r : results) {
      const std::vector<std::string>& names = r.node->loc().names;
      out.push_back({names, std::string(r.node->op()), r.result,
                     array_of(fmt::format("{}", fmt::join(names, "+")), widened(r.floats))});
    }
    return out;
  });
}

Expected<Analysis> Model::analyze(const ArrayViews& views, const std::string& title) const {
  return state_->alone([&]() -> Result<Analysis> {
    const qc::Graph& graph = *state_->network->graph;
    QC_ASSIGN(qc::Samples samples, samples_of(graph, state_->options, views));
    QC_ASSIGN(auto quantized, qc::copy(graph));
    QC_ASSIGN(auto plain, qc::copy(graph));
    Options layers = qc::layer_by_layer(state_->options);
    QC_TRY(qc::add_dims_of(graph, samples, layers));
    qc::PassContext context;
    auto made = qc::make_contract(*quantized, layers, context);
    state_->program_cache.warn(context.warnings);
    QC_TRY(made);
    Options options = qc::without_rules(state_->options);
    QC_TRY(qc::add_dims_of(graph, samples, options));
    qc::PassContext floats;
    floats.compute_in_f32 = true;
    QC_TRY(qc::make_contract(*plain, options, floats));
    const std::vector<qc::Tensor> first = samples.first();
    QC_ASSIGN(const qc::Analysis found,
              qc::analyze(*plain, *quantized, context, std::move(samples)));
    Analysis out;
    for (const qc::LayerAnalysis& l : found.layers) out.layers.push_back(layer_of(l));
    out.runs = found.runs;
    out.table = qc::table(found, SIZE_MAX / 2, false);
    out.json = qc::json(found);
    if (!title.empty()) {
      QC_ASSIGN(out.page,
                qc::analysis_page(found, *plain, *quantized, state_->options, first, title));
    }
    return out;
  });
}

}  // namespace quantc
