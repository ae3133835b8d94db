#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/cli.h"

namespace qc::cli {

bool is_terminal() { return ::isatty(STDOUT_FILENO); }

size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<size_t>(size.ws_col, 60);
  return 100;
}

void say_text(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

void print_text(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<int> deliver(FileSet& files, std::string_view report) {
  stop_watching_time();
  QC_TRY(files.commit());
  print_text(report);
  return 0;
}

Result<int> deliver(const std::string& path, std::string_view bytes, std::string_view report) {
  stop_watching_time();
  QC_TRY(write_file(path, bytes));
  print_text(report);
  return 0;
}

bool has_colours() {
  const char* none = std::getenv("NO_COLOR");
  return ::isatty(STDERR_FILENO) && !(none && *none);
}

}  // namespace qc::cli
