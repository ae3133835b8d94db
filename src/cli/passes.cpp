#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "driver/pass_list.h"
#include "support/wrap.h"

namespace qc::cli {

void add_passes(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("passes", "list what happens to a model, in order");
  command->footer(
      "Example:\n  quantc passes\n  quantc compile model.onnx -o out --print-ir-after "
      "fuse_epilogues");
  command->callback([&session] {
    session.action = []() -> Result<int> {
      for (const PassRow& p : all_passes()) {
        const std::string front = fmt::format("{:<10} {:<32} ", p.stage, p.name);
        fmt::print("{}", wrapped(front, p.summary + (p.optional ? " (can be left out)" : ""),
                                 terminal_width()));
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
