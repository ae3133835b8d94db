#include "api/program_cache.h"

#include <fmt/format.h>

#include "driver/own_op.h"
#include "interp/interpreter.h"

namespace quantc {
namespace {

template <class Map>
std::string key_of(const Map& sizes) {
  std::string out;
  for (const auto& [symbol, size] : sizes) out += fmt::format("{}={};", symbol, size);
  return out;
}

uint64_t bytes_of(const qc::Program& program) {
  auto out = static_cast<uint64_t>(program.arena_bytes);
  for (const qc::Buffer& b : program.buffers) {
    if (b.kind == qc::BufferKind::constant && b.alias_of < 0)
      out += static_cast<uint64_t>(b.size());
  }
  return out;
}

}  // namespace

qc::Result<std::shared_ptr<const Contract>> ProgramCache::contract(const Options& options) {
  const std::string key = key_of(options.dims);
  if (auto known = contracts_.get(key)) return *known;
  auto made = std::make_shared<Contract>();
  QC_ASSIGN(made->graph, qc::copy(*network_->graph));
  auto done = qc::make_contract(*made->graph, options, made->context);
  warn(made->context.warnings);
  QC_TRY(done);
  std::shared_ptr<const Contract> out = std::move(made);
  contracts_.put(key, out);
  return out;
}

qc::Result<std::shared_ptr<const Contract>> ProgramCache::contract_for(
    const std::vector<qc::Tensor>& inputs) {
  Options options = options_;
  QC_TRY(qc::add_dims_of(*network_->graph, inputs, options));
  return contract(options);
}

qc::Result<std::shared_ptr<const Runnable>> ProgramCache::runnable(
    const std::vector<qc::Tensor>& inputs) {
  QC_ASSIGN(const qc::Bindings sizes, qc::bindings_for(*network_->graph, inputs));
  const std::string key = key_of(sizes);
  if (auto known = runnables_.get(key, false)) return *known;
  const std::lock_guard lock(*network_->work);
  if (auto known = runnables_.get(key)) return *known;  // somebody made it meanwhile
  QC_ASSIGN(auto made, make(inputs));
  runnables_.put(key, made, made->bytes);
  return made;
}

qc::Result<std::shared_ptr<const Runnable>> ProgramCache::make(
    const std::vector<qc::Tensor>& inputs) {
  QC_ASSIGN(auto contract, contract_for(inputs));
  QC_ASSIGN(const qc::Bindings sizes, qc::bindings_for(*contract->graph, inputs));
  auto out = std::make_shared<Runnable>();
  QC_ASSIGN(const auto programs, this->programs(contract));
  QC_ASSIGN(out->program, programs->of.at(sizes));
  if (qc::has_own_kernels_compiled(out->program)) {
    QC_ASSIGN(auto runner, qc::ProgramRunner::create(out->program, true));
    out->runner = std::make_unique<const qc::ProgramRunner>(std::move(runner));
  }
  for (const qc::Output& o : contract->graph->outputs()) out->outputs.push_back(o.name);
  for (qc::IndexCheck& check : qc::index_checks(*contract->graph)) {
    check.least = check.least.substitute(sizes);
    check.most = check.most.substitute(sizes);
    out->checks.push_back(std::move(check));
  }
  out->bytes = bytes_of(out->program);
  return std::shared_ptr<const Runnable>(std::move(out));
}

qc::Result<std::shared_ptr<const Programs>> ProgramCache::programs(
    const std::shared_ptr<const Contract>& contract) {
  if (auto known = programs_.get(contract.get())) return *known;
  Options options = options_;
  options.target = "native";  // every target has the same bits
  options.threads = false;
  options.kernels.clear();
  options.check_indices = true;
  QC_ASSIGN(qc::SizedProgram of, qc::SizedProgram::create(*contract->graph, std::move(options)));
  auto made = std::make_shared<const Programs>(Programs{contract, std::move(of)});
  programs_.put(contract.get(), made);
  return made;
}

void ProgramCache::warn(const std::vector<std::string>& lines) {
  const std::lock_guard lock(mutex_);
  for (const std::string& line : lines) {
    if (warned_.insert(line).second) warnings_.push_back(line);
  }
}

std::vector<std::string> ProgramCache::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

}  // namespace quantc
