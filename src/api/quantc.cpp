#include "quantc/quantc.h"

#include <cstring>

#include "driver/arrays.h"
#include "driver/compile.h"
#include "driver/load.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "support/budget.h"

namespace quantc {

using qc::Result;

namespace {

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

template <class T>
Expected<T> converted(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  return converted(result.diag());
}

}  // namespace

struct Model::State {
  std::unique_ptr<qc::Graph> graph;
  Options options;
  qc::Budget budget;  // each call may spend as much as loading may

  /// Calls `f` with a budget of its own.
  template <class F>
  auto within(F&& f) const {
    qc::Budget own(budget);
    return converted(qc::within(&own, f));
  }
};

namespace {

Result<qc::NamedArray> tensor_of(const Array& array) {
  auto dtype = qc::parse_dtype(array.type);
  if (!dtype)
    return qc::error(qc::Code::input, "array '{}' has the unknown type '{}'", array.name,
                     array.type);
  QC_ASSIGN(int64_t bytes, qc::checked_bytes(*dtype, array.shape));
  if (bytes != static_cast<int64_t>(array.data.size())) {
    return qc::error(qc::Code::input, "array '{}' has {} bytes, its shape needs {}", array.name,
                     array.data.size(), bytes);
  }
  qc::Tensor t(*dtype, array.shape);
  if (bytes > 0) std::memcpy(t.mutable_bytes().data(), array.data.data(), array.data.size());
  return qc::NamedArray{array.name, std::move(t)};
}

Port port_of(const std::string& name, const qc::Type& type) {
  Port out{name, std::string(qc::name(type.dtype)), {}};
  for (const qc::Dim& d : type.shape) out.shape.push_back(d.str());
  return out;
}

Result<std::vector<Array>> run_graph(const qc::Graph& model, Options options,
                                     const std::vector<Array>& inputs) {
  std::vector<qc::NamedArray> arrays;
  for (const Array& a : inputs) {
    QC_ASSIGN(qc::NamedArray t, tensor_of(a));
    arrays.push_back(std::move(t));
  }
  QC_ASSIGN(auto tensors, qc::match_inputs(model, arrays));
  QC_TRY(qc::add_dims_of(model, tensors, options));
  QC_ASSIGN(auto graph, qc::copy(model));
  QC_TRY(qc::make_contract(*graph, options));
  QC_ASSIGN(qc::RunResult result, qc::interpret(*graph, tensors));
  std::vector<Array> out;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const qc::Tensor& t = result.outputs[i];
    out.push_back({graph->outputs()[i].name,
                   std::string(qc::name(t.dtype())),
                   t.shape(),
                   {t.bytes().begin(), t.bytes().end()}});
  }
  return out;
}

Result<Report> compile_graph(const qc::Graph& model, const Options& options,
                             const std::string& folder) {
  QC_ASSIGN(auto graph, qc::copy(model));
  qc::PassContext context;
  QC_TRY(qc::make_contract(*graph, options, context));
  QC_ASSIGN(qc::CompileResult result, qc::compile_project(*graph, options, folder, nullptr));
  std::vector<std::string> warnings = std::move(context.warnings);
  warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
  const qc::CReport& r = result.report;
  return Report{result.name,    r.arena_bytes, r.state_bytes,      r.stack_bytes,
                r.weight_bytes, r.macs,        std::move(warnings)};
}

Result<std::string> graph_text(const qc::Graph& model, const Options& options) {
  QC_ASSIGN(auto graph, qc::copy(model));
  QC_TRY(qc::make_contract(*graph, options));
  return qc::print(*graph);
}

}  // namespace

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Expected<Model> Model::load(const std::string& path, const Options& options) {
  qc::Budget budget(options.budget);
  auto graph = qc::within(&budget, [&] { return qc::load_model(path, options); });
  if (!graph.ok()) return converted(graph.diag());
  return Model(std::unique_ptr<State>(new State{std::move(*graph), options, budget}));
}

std::vector<Port> Model::inputs() const {
  std::vector<Port> out;
  for (const qc::Value* v : state_->graph->inputs()) out.push_back(port_of(v->name(), v->type()));
  return out;
}

std::vector<Port> Model::outputs() const {
  std::vector<Port> out;
  for (const qc::Output& o : state_->graph->outputs())
    out.push_back(port_of(o.name, o.value->type()));
  return out;
}

Expected<std::vector<Array>> Model::run(const std::vector<Array>& inputs) const {
  return state_->within([&] { return run_graph(*state_->graph, state_->options, inputs); });
}

Expected<Report> Model::compile(const std::string& folder) const {
  return state_->within([&] { return compile_graph(*state_->graph, state_->options, folder); });
}

Expected<std::string> Model::text() const {
  return state_->within([&] { return graph_text(*state_->graph, state_->options); });
}

}  // namespace quantc
