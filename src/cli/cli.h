// The command line: flags to calls; no logic of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/load.h"
#include "ir/tensor.h"
#include "support/budget.h"
#include "support/result.h"

namespace qc::cli {

/// What every command shares.
struct Session {
  int verbosity = 0;
  /// Set by the command that was chosen; run after parsing.
  std::function<Result<int>()> action;
};

/// Options of a compilation as flags; `--config` is read first, flags override it.
struct CompileFlags {
  Options options;
  std::vector<std::string> dims;
  std::string config;
  std::vector<std::string> print_after;
  bool time_passes = false;

  void add_dims(CLI::App& app);
  /// Rules and what belongs to them.
  void add_quantization(CLI::App& app);
  void add_all(CLI::App& app);
  void add_force(CLI::App& app);
  /// One option. It overrides the configuration when it is given, whatever its value; a flag is
  /// switched off by its name with --no- in front.
  template <class T>
  void add(CLI::App& app, const std::string& name, T Options::*member, const std::string& help) {
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<T, bool>) {
      option = app.add_flag(name + ",!--no-" + name.substr(2), options.*member, help);
    } else {
      option = app.add_option(name, options.*member, help);
    }
    given.emplace_back(option, [member, this](Options& out) { out.*member = options.*member; });
  }
  /// The options as given by configuration and flags together.
  Result<Options> resolve() const;
  /// Prints IR and times as asked.
  PassObserver observer() const;

  /// Each option of `options` with what takes its value over.
  std::vector<std::pair<const CLI::Option*, std::function<void(Options&)>>> given;
};

/// Where the inputs of a run come from.
struct InputFlags {
  std::vector<std::string> files;
  int64_t seed = -1;

  void add(CLI::App& app);
  /// The arrays of the files, or made from the seed; exactly one of the two must be given.
  Result<std::vector<Tensor>> read(const Graph& graph) const;
};

/// Prints warnings about `file` on standard error.
void warn(const std::string& file, std::span<const std::string> warnings);

/// Loads the model with the options' dims bound.
Result<std::unique_ptr<Graph>> load(const std::string& path, const Options& options,
                                    std::vector<std::string>* remarks = nullptr);

/// make_contract, with its warnings on standard error.
Result<Ok> contract(Graph& graph, const Options& options, PassContext& context,
                    const PassObserver& observe = {});

void add_compile(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_validate(CLI::App& app, Session& session);
void add_inspect(CLI::App& app, Session& session);
void add_ops(CLI::App& app, Session& session);
void add_targets(CLI::App& app, Session& session);
void add_passes(CLI::App& app, Session& session);
void add_explain(CLI::App& app, Session& session);
void add_calibrate(CLI::App& app, Session& session);

/// Ends what takes longer than the budget allows, by the processor's time.
void watch_time(const Budget& budget);

/// Reports work that takes longer than a second on standard error while it lives.
class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qc::cli
