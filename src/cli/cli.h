// The command line: flags to calls; no logic of its own.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "driver/load.h"
#include "driver/samples.h"
#include "ir/tensor.h"
#include "support/budget.h"
#include "support/output.h"
#include "support/result.h"

namespace qc::cli {

/// " (default X)"; nothing for an empty one.
std::string default_text(const std::string& value);
/// The words of a list of choices() as help shows them, "speed|size"; any other text as it is.
std::string value_text(const std::string& value);

/// An option with a value; one that takes a list is repeated for each, so that what follows a value
/// is never swallowed. `value` as in CompileFlags::add.
template <class T>
CLI::Option* add_value(CLI::App& app, const std::string& name, T& to, const std::string& value,
                       const std::string& help) {
  CLI::Option* option = app.add_option(name, to, help);
  return option->type_name(value_text(value))->allow_extra_args(false);
}
/// The model that a command is about.
void add_model(CLI::App& app, std::string& model);

/// What every command shares.
struct Session {
  int verbosity = 0;
  /// Set by the command that was chosen; run after parsing.
  std::function<Result<int>()> action;
};

/// Options of a compilation as flags; `--config` is read first, flags override it.
struct CompileFlags {
  Options options;
  std::vector<std::string> dims, shapes, constants;
  std::string config;
  mutable std::vector<std::string> print_after;  // resolve() replaces earlier names of passes
  bool time_passes = false;

  void add_dims(CLI::App& app);
  /// Rules and what belongs to them.
  void add_quantization(CLI::App& app);
  void add_disable_pass(CLI::App& app);
  void add_allow_host(CLI::App& app);
  void add_target(CLI::App& app, const std::string& help);
  /// What may be chosen for the generated code and never changes an answer.
  void add_code(CLI::App& app);
  void add_all(CLI::App& app);
  void add_force(CLI::App& app);
  /// One option. It overrides the configuration when it is given, whatever its value; a flag is
  /// switched off by its name with --no- in front (or without it). `value` is what help calls its
  /// value: a kind such as FILE, or the name of a list of choices(). The default is told where
  /// there is one.
  template <class T>
  void add(CLI::App& app, const std::string& name, T Options::*member, const std::string& value,
           std::string help) {
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<T, bool>) {
      const std::string off = name.starts_with("--no-") ? name.substr(5) : "no-" + name.substr(2);
      option = app.add_flag(name + ",!--" + off, options.*member, help);
    } else {
      if constexpr (!std::is_same_v<T, std::vector<std::string>>)
        help += default_text(fmt::format("{}", options.*member));
      option = add_value(app, name, options.*member, value, help);
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
  std::vector<std::string> files, data;
  int64_t seed = -1;

  void add(CLI::App& app);
  /// One run of the arrays of the files or made from the seed, or the runs of a data set; exactly
  /// one of the three must be given.
  Result<Samples> open(const Graph& graph, const Options& options) const;
  /// Makes random inputs anew where those of the contract graph are codes.
  Result<Ok> renew(const Graph& contract, Samples& samples) const;
};

/// Prints on standard error. What that does not take is lost: there is nobody else to tell.
void say_text(std::string_view text) noexcept;
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    say_text(fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::exception&) {
    say_text("not enough memory for a message\n");
  }
}
/// Prints on standard output, without memory of its own. What that does not take, the program says
/// at its end.
void print_text(std::string_view text) noexcept;
/// Puts the files of a command in their places and prints its report: the last step, after which
/// only standard output can fail.
Result<int> deliver(FileSet& files, std::string_view report);
/// The same of one file, which replaces what has its name.
Result<int> deliver(const std::string& path, std::string_view bytes, std::string_view report);

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
void add_analyze(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);
void add_help(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);

/// Ends what takes longer than the budget allows, by the processor's time.
void watch_time(const Budget& budget);
/// From now on time is the user's to say.
void stop_watching_time();
/// The same where there are several samples: how many is the user's to say, and each has a budget.
void watch_time_of(const Samples& samples);

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
