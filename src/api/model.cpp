#include "quantc/model.h"

#include <cstring>

#include "api/state.h"
#include "driver/compile.h"
#include "driver/load.h"
#include "driver/renamed.h"
#include "interp/interpreter.h"
#include "ir/text.h"

namespace quantc {
namespace {

using qc::Result;

ArrayViews views_of(const std::vector<Array>& arrays) { return {arrays.begin(), arrays.end()}; }

std::vector<Array> arrays_of(const std::vector<std::string>& names,
                             const std::vector<qc::Tensor>& tensors) {
  std::vector<Array> out;
  for (size_t i = 0; i < tensors.size(); ++i) out.push_back(array_of(names[i], tensors[i]));
  return out;
}

Result<std::vector<Array>> interpreted(Network& network, ProgramCache& program_cache,
                                       const ArrayViews& views) {
  std::vector<std::string> notes;
  QC_ASSIGN(const auto inputs, inputs_of(*network.graph, views, &notes));
  program_cache.warn(notes);
  QC_ASSIGN(const auto contract, program_cache.contract_for(inputs));
  QC_TRY(qc::check_indices(*contract->graph, inputs));
  qc::RunOptions how;
  how.how.check_indices = true;
  QC_ASSIGN(const qc::RunResult result, qc::interpret(*contract->graph, inputs, how));
  std::vector<std::string> names;
  for (const qc::Output& o : contract->graph->outputs()) names.push_back(o.name);
  return arrays_of(names, result.outputs);
}

/// The same in memory of the caller.
Result<ArrayViews> interpreted_into(Network& network, ProgramCache& program_cache,
                                    const ArrayViews& views, const Allocate& allocate) {
  const std::lock_guard lock(*network.work);
  QC_ASSIGN(const std::vector<Array> arrays, interpreted(network, program_cache, views));
  ArrayViews out;
  for (const Array& a : arrays) {
    void* const data = allocate(a.data.size());
    if (!a.data.empty()) std::memcpy(data, a.data.data(), a.data.size());
    out.emplace_back(a.name, a.type, a.shape, data, a.data.size());
  }
  return out;
}

Result<ArrayViews> run_fast(Network& network, ProgramCache& program_cache, const ArrayViews& views,
                            const Allocate& allocate) {
  std::vector<std::string> notes;
  QC_ASSIGN(const auto inputs, inputs_of(*network.graph, views, &notes));
  program_cache.warn(notes);
  QC_ASSIGN(const auto runnable, program_cache.runnable(inputs));
  if (!runnable->runner) return interpreted_into(network, program_cache, views, allocate);
  QC_TRY(qc::check_indices(runnable->checks, *network.graph, inputs, {}));
  // Initial states come from the pool, which others may be adding to.
  std::unique_lock<std::mutex> lock(*network.work, std::defer_lock);
  if (!runnable->program.states.empty()) lock.lock();
  qc::ProgramOptions how;
  how.allocate = allocate;
  QC_ASSIGN(const qc::ProgramResult result, runnable->runner->run(inputs, how));
  ArrayViews out;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const qc::Tensor& t = result.outputs[i];
    out.emplace_back(runnable->outputs[i], std::string(qc::name(t.dtype())), t.shape(),
                     t.bytes().data(), t.bytes().size());
  }
  return out;
}

/// Sizes that `own` does not have must be for dimensions of the graph.
Result<qc::Ok> check_dims(const qc::Graph& graph, const Options& own, const Options& options) {
  const auto check = [&](const auto& sizes, const auto& before) -> Result<qc::Ok> {
    for (const auto& [name, size] : sizes) {
      if (before.count(name) == 0) QC_TRY(qc::check_dim(graph, name));
    }
    return qc::Ok{};
  };
  QC_TRY(check(options.dims, own.dims));
  return check(options.ranges, own.ranges);
}

}  // namespace

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

/// The model of a graph that `read(remarks)` loads.
template <class Read>
Expected<Model> Model::loaded(const Options& options, Read&& read) {
  qc::Budget budget(options.budget);
  auto network = std::make_shared<Network>();
  auto graph = qc::within(&budget, [&] { return read(&network->remarks); });
  if (!graph.ok()) return converted(graph.diag());
  network->graph = std::move(*graph);
  std::vector<std::string> renamed;
  auto state =
      std::make_unique<State>(std::move(network), qc::with_current_names(options, renamed), budget);
  state->program_cache.warn(renamed);
  return Model(std::move(state));
}

Expected<Model> Model::load(const std::string& path, const Options& options) {
  return loaded(options, [&](auto* remarks) { return qc::load_model(path, options, remarks); });
}

Expected<Model> Model::load(const void* bytes, size_t size, const std::string& name,
                            const Options& options) {
  const std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
  return loaded(options,
                [&](auto* remarks) { return qc::load_model(all, name, options, remarks); });
}

const Options& Model::options() const { return state_->options; }
std::vector<Port> Model::inputs() const { return input_ports(*state_->network->graph); }
std::vector<Port> Model::outputs() const { return output_ports(*state_->network->graph); }
std::vector<std::string> Model::warnings() const { return state_->program_cache.warnings(); }

Expected<Model> Model::with(const Options& options) const {
  const Options& own = state_->options;
  if (options.state != own.state || options.arithmetic != own.arithmetic) {
    return converted(qc::error(qc::Code::usage,
                               "'{}' is decided when a model is loaded: load it with that option",
                               options.state != own.state ? "state" : "arithmetic"));
  }
  const auto known = check_dims(*state_->network->graph, own, options);
  if (!known.ok()) return converted(known.diag());
  std::vector<std::string> renamed;
  auto state = std::make_unique<State>(state_->network, qc::with_current_names(options, renamed),
                                       state_->budget);
  state->program_cache.warn(state_->program_cache.warnings());
  state->program_cache.warn(renamed);
  return Model(std::move(state));
}

Expected<Model> Model::quantize(const Rules& rules) const {
  Options options = state_->options;
  options.own_rules = rules;
  options.rules.clear();
  options.rules_file.clear();
  auto out = with(options);
  if (!out) return out;
  State& state = *out->state_;
  auto checked = state.alone([&]() -> Result<qc::Ok> {
    QC_TRY(state.program_cache.contract());
    return qc::Ok{};
  });
  if (!checked) return checked.diagnostic();
  return out;
}

Expected<ArrayViews> Model::run(const ArrayViews& inputs, const Allocate& allocate) const {
  return state_->within(
      [&] { return run_fast(*state_->network, state_->program_cache, inputs, allocate); });
}
Expected<std::vector<Array>> Model::run(const ArrayViews& inputs) const {
  return owned([&](const Allocate& allocate) { return run(inputs, allocate); });
}
Expected<std::vector<Array>> Model::run(const std::vector<Array>& inputs) const {
  return run(views_of(inputs));
}

Expected<std::vector<Array>> Model::run_reference(const ArrayViews& inputs) const {
  return state_->alone(
      [&] { return interpreted(*state_->network, state_->program_cache, inputs); });
}
Expected<std::vector<Array>> Model::run_reference(const std::vector<Array>& inputs) const {
  return run_reference(views_of(inputs));
}

Expected<std::string> Model::text(bool all_constants) const {
  return state_->alone([&]() -> Result<std::string> {
    QC_ASSIGN(const auto contract, state_->program_cache.contract());
    return qc::print(*contract->graph, {.all_constants = all_constants});
  });
}

void Model::limit_program_cache(size_t count, uint64_t bytes) const {
  state_->program_cache.keep(count, bytes);
}

CacheReport Model::program_cache() const {
  const qc::CacheStats s = state_->program_cache.stats();
  return {s.hits, s.misses, s.evictions, s.count, s.weight, s.hit_rate()};
}

}  // namespace quantc
