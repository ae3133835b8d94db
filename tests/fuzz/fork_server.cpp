// Runs the program many times without starting it anew: fork_server LOG CPU_SECONDS MEMORY_BYTES.
// Each line of standard input is one command line, its arguments separated by tabs. A child process
// runs it as `quantc` would, under limits of the processor's time and of memory, with both outputs
// in the files LOG.out and LOG.err. The answer is one line: the status as waitpid gives it,
// microseconds of the processor's time and the most kilobytes held.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/program.h"
#include "ops/common/registration.h"

namespace {

constexpr unsigned kPatience = 120;  // seconds, for what waits and takes no time

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts{"quantc"};
  for (size_t begin = 0, end = 0; begin <= line.size(); begin = end + 1) {
    end = std::min(line.find('\t', begin), line.size());
    parts.push_back(line.substr(begin, end - begin));
  }
  return parts;
}

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  if (::setrlimit(resource, &both) != 0) std::_Exit(99);
}

void redirect(int descriptor, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0666);
  if (file < 0 || ::dup2(file, descriptor) < 0) std::_Exit(99);
  ::close(file);
}

[[noreturn]] void run(const std::string& line, char** limits) {
  const std::string log = limits[0];
  redirect(0, "/dev/null", O_RDONLY);
  redirect(1, log + ".out", O_WRONLY | O_CREAT | O_TRUNC);
  redirect(2, log + ".err", O_WRONLY | O_CREAT | O_TRUNC);
  ::alarm(kPatience);
  limit(RLIMIT_CPU, std::strtoull(limits[1], nullptr, 10));
  if (const rlim_t memory = std::strtoull(limits[2], nullptr, 10)) limit(RLIMIT_AS, memory);
  limit(RLIMIT_CORE, 0);
  std::vector<std::string> arguments = split(line);
  std::vector<char*> pointers;
  for (std::string& a : arguments) pointers.push_back(a.data());
  pointers.push_back(nullptr);
  std::exit(qc::cli::program(static_cast<int>(arguments.size()), pointers.data()));
}

long long microseconds(const timeval& t) { return t.tv_sec * 1'000'000LL + t.tv_usec; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  qc::register_all_ops();  // children inherit the tables
  // Children have their own standard input, so what is buffered here stays the server's.
  std::string line;
  for (int c = 0; (c = std::getchar()) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) run(line, argv + 1);
    int status = 0;
    rusage used{};
    if (::wait4(child, &status, 0, &used) != child) return 1;
    std::printf("%d %lld %ld\n", status, microseconds(used.ru_utime) + microseconds(used.ru_stime),
                used.ru_maxrss);
    std::fflush(stdout);
    line.clear();
  }
  return 0;
}
