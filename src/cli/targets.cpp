#include <fmt/format.h>

#include "cli/cli.h"
#include "target/target.h"

namespace qc::cli {
namespace {

/// A paragraph for each target that is not made of others.
void print_facts() {
  for (const Target& t : all_targets()) {
    if (!t.targets.empty()) continue;
    fmt::print("{}: {}\n", t.name, t.facts.machine);
    for (const Fact& fact : listed(t.facts)) {
      if (fact.value.empty()) continue;
      const std::string unit = fact.unit.empty() ? "" : fmt::format(" {}", fact.unit);
      fmt::print("  {:<34} {}{}\n", fact.name, fact.value, unit);
    }
  }
}

}  // namespace

void add_targets(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("targets", "list what code can be generated for, and what runs here");
  command->footer("Example:\n  quantc targets\n  quantc compile model.onnx -o out --target native");
  auto facts = std::make_shared<bool>(false);
  command->add_flag("--facts", *facts,
                    "the figures of each target's machine that kernels are chosen by");
  command->callback([facts, &session] {
    session.action = [facts]() -> Result<int> {
      if (*facts) {
        print_facts();
        return 0;
      }
      for (const Target& t : all_targets()) {
        fmt::print("{:<16} {}\n", t.name,
                   runs_here(t) ? fmt::format("{:<60} runs here", t.summary) : t.summary);
      }
      fmt::print("{:<16} the best of them that runs here: {}\n", "native",
                 find_target("native")->name);
      return 0;
    };
  });
}

}  // namespace qc::cli
