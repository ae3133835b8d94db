#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace qc::cli {

bool is_terminal() { return ::isatty(STDOUT_FILENO); }

size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<size_t>(size.ws_col, 60);
  return 100;
}

bool has_colours() {
  const char* none = std::getenv("NO_COLOR");
  return ::isatty(STDERR_FILENO) && !(none && *none);
}

}  // namespace qc::cli
