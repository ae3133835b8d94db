#include "tests/support/isolate.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#ifdef QC_COVERAGE
extern "C" void __gcov_dump(void);
#endif

namespace qc {
namespace {

bool write_all(int fd, const void* data, size_t size) {
  auto p = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t n = write(fd, p, size);
    if (n <= 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* data, size_t size) {
  auto p = static_cast<char*>(data);
  while (size > 0) {
    ssize_t n = read(fd, p, size);
    if (n <= 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// Lets the process die of SIGPROF after this much processor time: a busy machine must not matter.
void limit_time(unsigned seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

[[noreturn]] void work(int fd, size_t from, size_t count,
                       const std::function<std::string(size_t)>& job, unsigned seconds) {
  for (size_t i = from; i < count; ++i) {
    limit_time(seconds);
    std::string result = job(i);
    limit_time(0);
    uint64_t size = result.size();
    if (!write_all(fd, &size, sizeof size) || !write_all(fd, result.data(), result.size())) break;
  }
#ifdef QC_COVERAGE
  __gcov_dump();  // _exit writes no counts
#endif
  _exit(0);
}

}  // namespace

std::vector<std::string> run_isolated(size_t count, const std::function<std::string(size_t)>& job,
                                      unsigned seconds) {
  std::vector<std::string> results;
  while (results.size() < count) {
    int ends[2];
    if (pipe(ends) != 0) return results;
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      work(ends[1], results.size(), count, job, seconds);
    }
    close(ends[1]);
    uint64_t size = 0;
    while (results.size() < count && read_all(ends[0], &size, sizeof size)) {
      std::string text(size, '\0');
      if (!read_all(ends[0], text.data(), size)) break;
      results.push_back(std::move(text));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (results.size() < count) {
      int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      results.push_back(signal == SIGPROF ? "timed out"
                                          : "crashed: signal " + std::to_string(signal));
    }
  }
  return results;
}

}  // namespace qc
