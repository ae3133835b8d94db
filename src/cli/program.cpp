#include "cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "quantc/version.h"
#include "support/budget.h"
#include "support/file.h"
#include "support/scratch.h"

namespace qc::cli {
namespace {

std::string painted(std::string text) {
  if (!has_colours()) return text;
  if (size_t at = text.find("error["); at != std::string::npos) {
    const size_t end = text.find(']', at);
    text.insert(end + 1, "\033[0m");
    text.insert(at, "\033[1;31m");
  }
  return text;
}

/// Files may be in their places already: a failure here is none of the command.
void say_used(const Budget& budget) noexcept {
  try {
    say("budget used: {}\n", budget.used());
  } catch (const std::bad_alloc&) {
    say_text("not enough memory for a message\n");
  }
}

int main_with(int argc, char** argv) {
  CLI::App app{"quantc: compiles PyTorch and ONNX networks to standalone C", "quantc"};
  app.formatter(std::make_shared<HelpPage>());
  app.set_help_flag("-h,--help", "print this page");
  app.set_version_flag("--version", fmt::format("quantc {}", quantc::kVersion),
                       "print the version");
  app.require_subcommand(1);
  app.fallthrough();  // -v may stand after the command
  app.footer(
      "Examples:\n  quantc compile model.onnx -o out\n  quantc run model.pt2 -i in.npz -o out.npz\n"
      "  quantc validate model.onnx -i io.npz -e io.npz\n\n"
      "Exit status: 0 done, 1 a mistake in model, arrays or flags, 2 not supported, 3 a bug in "
      "quantc.");
  Session session;
  app.add_flag("-v,--verbose", session.verbosity, "say more; twice for even more");
  add_compile(app, session);
  add_run(app, session);
  add_validate(app, session);
  add_inspect(app, session);
  add_ops(app, session);
  add_targets(app, session);
  add_passes(app, session);
  add_explain(app, session);
  add_calibrate(app, session);
  add_analyze(app, session);
  add_bench(app, session);
  add_help(app, session);
  add_completion(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    say("{}\n", painted(render(mistake(app, e))));
    return 1;
  }
  Budget budget;
  watch_time(budget);
  Result<int> status = within(&budget, [&]() -> Result<int> {
    try {
      return session.action();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::length_error&) {
      throw;
    } catch (const std::exception& e) {
      if (std::ferror(stdout))
        return error(Code::file, "cannot write to standard output: {}", e.what());
      return error(Code::bug, "{}", e.what());
    }
  });
  if (session.verbosity > 0) say_used(budget);
  if (status.ok()) return *status;
  const auto commands = app.get_subcommands();
  const bool says_where = status.diag().text.find("(see quantc ") != std::string::npos;
  if (status.diag().code == Code::usage && status.diag().loc.file.empty() && !commands.empty() &&
      !says_where) {
    status.diag().notes.push_back(
        fmt::format("quantc {} --help lists its flags and their choices", commands[0]->get_name()));
  }
  say("{}\n", painted(render(status.diag())));
  return exit_status(status.diag());
}

/// Descriptors 0 to 2 that are closed would be given to output files, and messages be written
/// there.
void open_standard_files() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

/// The status, or a failure when what was printed did not all arrive.
int with_output(int status) {
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  if (arrived || status != 0) return status;
  const Diag lost = error(Code::file, "cannot write all of the output to standard output: {}",
                          std::strerror(errno));
  say("{}\n", painted(render(lost)));
  return exit_status(lost);
}

}  // namespace

int program(int argc, char** argv) {
  open_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // files that grow too large are errors of writing
  clean_up_on_signals();
  try {
    remember_inputs();
    return with_output(main_with(argc, argv));
  } catch (const std::bad_alloc&) {  // where no budget counts: flags, messages
    say_text("error[limit]: not enough memory\n");
    return 1;
  }
}

}  // namespace qc::cli
