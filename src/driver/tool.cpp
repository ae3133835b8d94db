#include "driver/tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "support/budget.h"
#include "support/checked.h"
#include "support/interrupt.h"
#include "support/scratch.h"

namespace qc {
namespace {

using Clock = std::chrono::steady_clock;

/// Lists of folders in which programs, libraries and headers are looked for. An empty or relative
/// one means the current folder, where files of a stranger may lie.
constexpr std::string_view kSearchPaths[] = {
    "PATH=",           "LD_LIBRARY_PATH=",    "LD_RUN_PATH=",   "LIBRARY_PATH=",    "CPATH=",
    "C_INCLUDE_PATH=", "CPLUS_INCLUDE_PATH=", "COMPILER_PATH=", "GCC_EXEC_PREFIX=", "PYTHONPATH=",
    "GVBINDIR=",
};

/// The absolute folders of a list, in order.
std::vector<std::string> absolute_folders(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t colon = std::min(list.find(':'), list.size());
    if (list.starts_with('/')) out.emplace_back(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return out;
}

/// The environment, its search paths without the current folder; messages are in English.
std::vector<std::string> tool_environment() {
  std::vector<std::string> out = {"LC_ALL=C.UTF-8"};
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("LC_ALL=") || text.starts_with("LANGUAGE=")) continue;
    const auto* list = std::ranges::find_if(
        kSearchPaths, [&](std::string_view name) { return text.starts_with(name); });
    if (list == std::end(kSearchPaths)) {
      out.emplace_back(text);
      continue;
    }
    const auto folders = absolute_folders(text.substr(list->size()));
    if (!folders.empty()) out.push_back(fmt::format("{}{}", *list, fmt::join(folders, ":")));
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Limits as the current budget scales them; 0: none.
ToolLimits scaled(const ToolLimits& limits) {
  const Budget* budget = Budget::current();
  return budget ? ToolLimits{budget->scaled(limits.seconds), budget->scaled(limits.megabytes),
                             limits.patience}
                : ToolLimits{};
}

void limit(int resource, int64_t amount) {
  if (amount <= 0) return;
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_max = std::min(now.rlim_max, static_cast<rlim_t>(amount));
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

/// A child process: only what is safe between fork and exec.
[[noreturn]] void become(const char* folder, char** argv, char** environment, int end,
                         bool both_ways, int errors, const ToolLimits& limits) {
  ::setpgid(0, 0);
  restore_signals();
  if (both_ways) ::dup2(end, STDIN_FILENO);
  ::dup2(end, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  limit(RLIMIT_CPU, limits.seconds);
  limit(RLIMIT_DATA, std::min(limits.megabytes, INT64_MAX >> 20) << 20);
  if (*folder == 0 || ::chdir(folder) == 0) ::execvpe(argv[0], argv, environment);
  ::_exit(127);
}

/// The last of what a program printed.
class Tail {
 public:
  void add(const char* data, size_t size) {
    text_.append(data, size);
    if (text_.size() > 2 * kMost) text_.erase(0, text_.size() - kMost);
  }
  std::string text() const { return text_.substr(text_.size() - std::min(text_.size(), kMost)); }
  bool says(std::string_view words) const { return text_.find(words) != text_.npos; }

 private:
  static constexpr size_t kMost = 3000;
  std::string text_;
};

/// A running program, and how it came to its end.
struct Running {
  pid_t child = 0;
  std::optional<Clock::time_point> until;
  bool late = false, stopped = false;  // it was ended, by the clock or as who called wanted it
  int status = 0;
  rusage used{};

  bool is_over() {
    stopped = stopped || interrupted();
    late = late || (until && Clock::now() >= *until);
    return stopped || late;
  }
  bool ended_with(int code) const {
    return !late && !stopped && WIFEXITED(status) && WEXITSTATUS(status) == code;
  }
};

constexpr int kWait = 50;  // milliseconds until an interrupt is noticed

/// Reads until the other end is closed, or the program's time is over.
void read_all(int fd, Running& running, Tail& out) {
  while (!running.is_over()) {
    pollfd one{fd, POLLIN, 0};
    if (::poll(&one, 1, kWait) <= 0) continue;
    char chunk[4096];
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    out.add(chunk, static_cast<size_t>(n));
  }
}

/// Waits for the end of the program, which is ended with all it started when its time is over.
void wait_for(Running& running) {
  for (int polls = 0; true; ++polls) {
    if (running.is_over()) ::kill(-running.child, SIGKILL);
    const pid_t ended = ::wait4(running.child, &running.status, WNOHANG, &running.used);
    if (ended == running.child || (ended < 0 && errno != EINTR)) return;
    ::usleep(polls < 10 ? 500 : 10'000);  // most end as soon as they have closed their output
  }
}

double seconds_of(const rusage& used) {
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// What a program that failed ran out of; empty where it was nothing.
std::string missed(const ToolLimits& limits, const Running& run, const Tail& said) {
  if (run.late) return "time";
  const auto says = [&](std::initializer_list<std::string_view> signs) {
    return std::ranges::any_of(signs, [&](auto sign) { return said.says(sign); });
  };
  const bool killed = WIFSIGNALED(run.status) || says({"Killed", "CPU time limit", "signal 9"});
  // The system counts for its limit by ticks, and otherwise on a machine that is shared.
  constexpr double kSure = 0.5;
  if (limits.seconds > 0 && killed &&
      seconds_of(run.used) >= kSure * static_cast<double>(limits.seconds))
    return fmt::format("{} seconds of the processor", limits.seconds);
  const bool full = says({"out of memory", "emory exhausted", "annot allocate memory", "bad_alloc",
                          "emory allocation"});
  return limits.megabytes > 0 && full ? fmt::format("{} MB", limits.megabytes) : "";
}

Diag failure(const ToolCall& call, const Running& run, const Tail& said) {
  const std::string &name = call.command[0], text = said.text();
  if (run.stopped) return error(Code::limit, "interrupted: who called ended it");
  if (run.ended_with(127) && text.empty()) return error(Code::tool, "'{}' does not start", name);
  const std::string what = missed(scaled(call.limits), run, said);
  Diag diag = what.empty()
                  ? error(Code::tool, "'{}' failed", name)
                  : error(Code::limit,
                          "'{}' needs more than the {} that files of this size may use; give "
                          "--budget 10 (or more) if the model is meant to be so large",
                          name, what);
  if (!text.empty()) diag.notes.push_back(text);
  return diag;
}

}  // namespace

std::string find_tool(const std::string& name) {
  if (name.find('/') != name.npos) {
    std::error_code ec;
    const auto path = std::filesystem::absolute(name, ec);
    return !ec && ::access(path.c_str(), X_OK) == 0 ? path.string() : "";
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : absolute_folders(path ? path : "/usr/local/bin:/usr/bin:/bin")) {
    std::string found = folder + "/" + name;
    if (::access(found.c_str(), X_OK) == 0 && !std::filesystem::is_directory(found)) return found;
  }
  return "";
}

int64_t tool_patience(const ToolLimits& limits) {
  const ToolLimits here = scaled(limits);
  return here.seconds == 0 ? -1 : saturating_mul(1000 * here.patience, here.seconds);
}

Result<pid_t> start_tool(const ToolCall& call, int end, bool both_ways, int errors) {
  std::vector<std::string> command = call.command, environment = tool_environment();
  command[0] = find_tool(call.command[0]);
  if (command[0].empty())
    return error(Code::tool, "'{}' is not installed or not in the path", call.command[0]);
  const std::vector<char*> argv = pointers(command), entries = pointers(environment);
  const ToolLimits limits = scaled(call.limits);
  const pid_t child = ::fork();
  if (child < 0) return error(Code::tool, "cannot start '{}'", call.command[0]);
  if (child == 0)
    become(call.folder.c_str(), const_cast<char**>(argv.data()), const_cast<char**>(entries.data()),
           end, both_ways, errors, limits);
  ::setpgid(child, child);  // here too, for whichever comes first
  return child;
}

Result<Ok> run_tool(const ToolCall& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return error(Code::tool, "cannot start '{}'", call.command[0]);
  // Until the child is noted as running, a signal would end this process and leave it behind.
  std::optional<Uninterrupted> starting(std::in_place);
  const Result<pid_t> started = start_tool(call, ends[1], false, ends[1]);
  ::close(ends[1]);
  if (!started.ok()) {
    ::close(ends[0]);
    return started.diag();
  }
  Running run;
  run.child = *started;
  const RunningTool noted(run.child);
  starting.reset();
  if (const int64_t patience = tool_patience(call.limits); patience >= 0)
    run.until = Clock::now() + std::chrono::milliseconds(patience);
  Tail said;
  read_all(ends[0], run, said);
  ::close(ends[0]);
  wait_for(run);
  return run.ended_with(0) ? Result<Ok>(Ok{}) : failure(call, run, said);
}

}  // namespace qc
