// What a model says about itself: explaining, validating, compiling.
#include "api/state.h"
#include "driver/arrays.h"
#include "driver/explain.h"
#include "driver/graph_edit.h"
#include "driver/layer_errors.h"
#include "driver/node_views.h"
#include "driver/qparams.h"
#include "driver/validate.h"

namespace quantc {

class MakesQuantParams {
 public:
  using Maybe = std::optional<QuantParams>;

  static Maybe of(const qc::QType& type) {
    if (!type.format) return std::nullopt;
    const qc::Format& f = *type.format;
    QuantParams out;
    out.dtype = qc::name(type.dtype);
    out.qmin = f.qmin;
    out.qmax = f.qmax;
    out.granularity = qc::name(f.granularity);
    if (f.granularity != qc::Granularity::tensor) out.axis = f.axis;
    if (f.granularity == qc::Granularity::group) out.group = f.group;
    out.dynamic = f.is_dynamic();
    out.format_ = type.format;
    return out;
  }
  static std::vector<Maybe> of(const std::vector<qc::QType>& types) {
    std::vector<Maybe> out;
    for (const qc::QType& type : types) out.push_back(of(type));
    return out;
  }
};

namespace {

using qc::Result;
using Reports = std::vector<qc::NodeReport>;

NodeExplanation explanation_of(const qc::NodeReport& r) {
  NodeExplanation out;
  out.names = r.names;
  out.op = r.op;
  out.computes = qc::name(r.computes);
  out.rule = r.rule;
  out.why = r.why;
  out.inputs = r.inputs;
  out.output = r.output;
  out.input_qparams = MakesQuantParams::of(r.input_types);
  out.output_qparams = MakesQuantParams::of(r.output_types);
  if (r.weight) {
    out.weight = r.weight->format;
    out.weight_qparams = MakesQuantParams::of(r.weight->type);
    out.weight_elements = r.weight->elements;
    out.weight_saturated = r.weight->saturated;
    out.weight_sqnr_db = r.weight->sqnr_db;
  }
  return out;
}

LayerComparison layer_of(const qc::LayerComparison& l) {
  LayerComparison out{l.against, l.names, l.op, l.result, {}};
  if (l.error) out.error = {l.error->sqnr_db(), l.error->cosine(), l.error->max_abs};
  return out;
}

Validation validation_of(const qc::Validation& v) {
  Validation out;
  out.ok = v.ok;
  out.table = qc::str(v);
  for (const qc::Comparison& c : v.comparisons) {
    const qc::Difference& d = c.difference;
    Comparison& to = out.comparisons.emplace_back();
    to = {c.got, c.want,   c.output, d.max_abs, d.max_rel, d.sqnr_db, d.bits_equal,
          c.ok,  c.judged, c.failed, {},        {},        {}};
    if (c.top1) to.top1 = c.top1->percent();
    if (c.perplexity) {
      to.perplexity = c.perplexity->got;
      to.wanted_perplexity = c.perplexity->want;
    }
  }
  for (const qc::LayerComparison& l : v.layers) out.layers.push_back(layer_of(l));
  for (const qc::LayerComparison& l : qc::first_bad(v)) out.first_bad.push_back(layer_of(l));
  return out;
}

Result<std::vector<qc::NamedArray>> arrays_of(const ArrayViews& views) {
  std::vector<qc::NamedArray> arrays;
  for (size_t i = 0; i < views.size(); ++i) {
    QC_ASSIGN(qc::Tensor t, tensor_of(views[i]));
    arrays.push_back(
        {views[i].name.empty() ? fmt::format("out_{}", i) : views[i].name, std::move(t)});
  }
  return arrays;
}

}  // namespace

std::vector<double> QuantParams::scale() const {
  if (!format_) return {};
  return qc::scales_of(*static_cast<const qc::Format*>(format_.get()));
}

std::vector<int64_t> QuantParams::zero_point() const {
  if (!format_) return {};
  return qc::zero_points_of(*static_cast<const qc::Format*>(format_.get()));
}

std::string Explanation::table(size_t width) const {
  const bool narrow = width > 0;
  return qc::table(*static_cast<const Reports*>(reports_.get()), narrow ? width : SIZE_MAX / 2,
                   narrow);
}

Expected<Explanation> Model::explain() const {
  return state_->alone([&]() -> Result<Explanation> {
    QC_ASSIGN(const auto contract, state_->program_cache.contract());
    QC_ASSIGN(Reports reports, qc::explain(*contract->graph, contract->context));
    Explanation out;
    for (const qc::NodeReport& r : reports) out.nodes.push_back(explanation_of(r));
    out.remarks = state_->network->remarks;
    const auto& noted = contract->context.remarks;
    out.remarks.insert(out.remarks.end(), noted.begin(), noted.end());
    out.warnings = contract->context.warnings;
    out.totals = qc::str(qc::totals(*contract->graph));
    out.json = qc::json(reports, contract->context);
    out.reports_ = std::make_shared<const Reports>(std::move(reports));
    return out;
  });
}

Expected<std::vector<NodeView>> Model::nodes() const {
  return state_->alone([&]() -> Result<std::vector<NodeView>> {
    QC_ASSIGN(const auto graph, qc::normalised(*state_->network->graph, state_->options));
    return qc::views_of(*graph);
  });
}

Expected<Validation> Model::validate(const ArrayViews& inputs, const ArrayViews& expected,
                                     const ValidateOptions& options) const {
  return state_->alone([&]() -> Result<Validation> {
    const qc::Graph& graph = *state_->network->graph;
    QC_ASSIGN(const auto tensors, inputs_of(graph, inputs));
    QC_ASSIGN(const auto contract, state_->program_cache.contract_for(tensors));
    qc::References references;
    QC_ASSIGN(auto arrays, arrays_of(expected));
    if (!expected.empty()) {
      QC_ASSIGN(auto wanted, qc::match_outputs(*contract->graph, arrays));
      references.expected.push_back(std::move(wanted));
      references.arrays.push_back(std::move(arrays));
    }
    qc::ValidateOptions how;
    how.atol = options.atol;
    if (options.rtol > 0) how.rtol = options.rtol;
    how.min_sqnr = options.min_sqnr;
    how.min_top1 = options.min_top1;
    how.max_perplexity = options.max_perplexity;
    how.tokens = options.tokens;
    how.targets = options.targets;
    how.build = {options.compiler, options.flags};
    how.per_layer = options.per_layer;
    Options own = state_->options;
    QC_TRY(qc::add_dims_of(graph, tensors, own));
    std::unique_ptr<qc::Graph> floats, layers;
    if (options.per_layer) {
      QC_ASSIGN(layers, qc::copy(graph));
      QC_TRY(qc::make_contract(*layers, qc::layer_by_layer(own)));
      references.layers = layers.get();
    }
    const bool rules = !own.own_rules.empty() || !own.rules.empty() || !own.rules_file.empty();
    how.quantized = rules;
    if ((options.per_layer || expected.empty()) && rules && own.io_dtype == "keep") {
      QC_ASSIGN(floats, qc::float_contract(graph, own));
      references.floats = floats.get();
    }
    QC_ASSIGN(const qc::Validation found,
              qc::validate(*contract->graph, own, qc::Samples::of(tensors), references, how));
    return validation_of(found);
  });
}

Expected<Report> Model::compile(const std::string& folder, const ArrayViews& vectors) const {
  return state_->alone([&]() -> Result<Report> {
    QC_ASSIGN(const auto contract, state_->program_cache.contract());
    std::vector<qc::Tensor> inputs;
    if (!vectors.empty()) {
      QC_ASSIGN(inputs, inputs_of(*contract->graph, vectors));
    }
    QC_ASSIGN(auto graph, qc::copy(*contract->graph));
    QC_ASSIGN(qc::CompileResult result, qc::compile_project(*graph, state_->options, folder,
                                                            vectors.empty() ? nullptr : &inputs));
    state_->program_cache.warn(result.warnings);
    const qc::ProjectReport& r = result.report;
    Report out{result.name,
               r.arena_bytes,
               r.state_bytes,
               r.stack_bytes,
               r.weight_bytes,
               r.macs,
               state_->program_cache.warnings()};
    QC_TRY(result.files.commit());
    return out;
  });
}

}  // namespace quantc
