#include "driver/explain.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "support/escape.h"

namespace qc::cli {

namespace {

/// Columns of standard output; no limit where it is no terminal.
size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return SIZE_MAX / 2;
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model;
    bool as_json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "say how every node is quantized: rule, formats, sums, conversions, what is float");
  add_model(*command, flags->model);
  command->add_flag("--json", flags->as_json, "as JSON");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer("Example:\n  quantc explain model.pt2 --rules rules.toml");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      PassContext context;
      QC_ASSIGN(auto graph, load(flags->model, options, &context.remarks));
      Progress progress("explaining " + flags->model);
      QC_TRY(contract(*graph, options, context));
      QC_ASSIGN(const auto reports, explain(*graph, context));
      if (flags->as_json) {
        fmt::print("{}", json(reports, context));
        return 0;
      }
      fmt::print("{}", table(reports, terminal_width()));
      constexpr std::string_view kPass = "fold_qdq: ";
      for (const std::string& remark : context.remarks) {
        if (remark.starts_with(kPass)) {
          fmt::print("remark: {}\n", shown(remark.substr(kPass.size())));
        }
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
