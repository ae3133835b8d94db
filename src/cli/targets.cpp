#include <fmt/format.h>

#include "cli/cli.h"
#include "target/target.h"

namespace qc::cli {

void add_targets(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("targets", "list what code can be generated for, and what runs here");
  command->footer("Example:\n  quantc targets\n  quantc compile model.onnx -o out --target native");
  command->callback([&session] {
    session.action = []() -> Result<int> {
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
