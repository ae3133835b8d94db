// What passes make of a network, kept for the next time: contract graphs, and Programs that run.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/index_checks.h"
#include "driver/sized_program.h"
#include "program/run.h"
#include "support/lru_cache.h"

namespace quantc {

/// A network as it was loaded, or as a pass left it. Models with other rules share it. Compiling
/// adds constants to the pool that all graphs made of it share, so whoever does holds `work`, which
/// belongs to the pool.
struct Network {
  std::unique_ptr<qc::Graph> graph;
  std::vector<std::string> remarks;  // what was left out while loading
  std::shared_ptr<std::mutex> work = std::make_shared<std::mutex>();
};

/// A contract graph with what its passes noted.
struct Contract {
  std::unique_ptr<qc::Graph> graph;
  qc::PassContext context;
};

/// A contract graph with the Programs for its sizes.
struct Programs {
  std::shared_ptr<const Contract> contract;
  qc::SizedProgram of;
};

/// A Program for this machine, ready to run.
struct Runnable {
  qc::Program program;
  std::unique_ptr<const qc::ProgramRunner> runner;  // of `program`; null: the graph is interpreted
  std::vector<std::string> outputs;                 // their names
  std::vector<qc::IndexCheck> checks;               // of inputs, for these sizes
  uint64_t bytes = 0;                               // of constants and arena
};

class ProgramCache {
 public:
  ProgramCache(std::shared_ptr<Network> network, const Options& options)
      : network_(std::move(network)), options_(options) {}

  /// The contract graph for the options' dims. Call with the network's `work` held.
  qc::Result<std::shared_ptr<const Contract>> contract(const Options& options);
  /// The same for the options of the model.
  qc::Result<std::shared_ptr<const Contract>> contract() { return contract(options_); }
  /// The contract graph for the sizes of these inputs. Call with the network's `work` held.
  qc::Result<std::shared_ptr<const Contract>> contract_for(const std::vector<qc::Tensor>& inputs);
  /// What runs on arrays of these sizes. Takes `work` itself where something has to be made.
  qc::Result<std::shared_ptr<const Runnable>> runnable(const std::vector<qc::Tensor>& inputs);

  void keep(size_t count, uint64_t bytes) { runnables_.set_capacity(count, bytes); }
  qc::CacheStats stats() const { return runnables_.stats(); }
  void warn(const std::vector<std::string>& lines);
  std::vector<std::string> warnings() const;

 private:
  qc::Result<std::shared_ptr<const Runnable>> make(const std::vector<qc::Tensor>& inputs);
  qc::Result<std::shared_ptr<const Programs>> programs(
      const std::shared_ptr<const Contract>& contract);

  const std::shared_ptr<Network> network_;
  const Options& options_;
  qc::LruCache<std::string, std::shared_ptr<const Contract>> contracts_{4};
  qc::LruCache<const Contract*, std::shared_ptr<const Programs>> programs_{4};
  qc::LruCache<std::string, std::shared_ptr<const Runnable>> runnables_{16, uint64_t{1} << 30};
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
  std::set<std::string> warned_;
};

}  // namespace quantc
