#include "support/scratch.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <system_error>
#include <thread>

namespace qc {
namespace fs = std::filesystem;
namespace {

/// What a signal has to remove. Whoever holds the mutex cannot be interrupted.
struct Registry {
  std::recursive_mutex mutex;
  std::set<std::string> folders;
  pid_t tool = 0;
};

/// Never destroyed: the thread that waits for signals may outlive everything.
Registry& registry() {
  static Registry* const one = new Registry;
  return *one;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      sigaddset(&set, signal);
    }
  }
  return set;
}

void end_tool(pid_t group) {
  if (group <= 0) return;
  ::kill(-group, SIGTERM);
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && ::waitpid(group, nullptr, WNOHANG) == 0; ++i) ::usleep(10'000);
}

/// Waits for one of the signals, cleans up and ends the process by that signal.
void wait_and_clean_up(sigset_t signals) {
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) {
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  end_tool(all.tool);
  for (const std::string& folder : all.folders) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

std::string random_name() {
  static constexpr char kLetters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device source;
  std::string out;
  for (int i = 0; i < 12; ++i) out += kLetters[source() % (sizeof kLetters - 1)];
  return out;
}

}  // namespace

Result<ScratchFolder> ScratchFolder::create(const std::string& parent, const std::string& prefix) {
  const std::lock_guard lock(registry().mutex);
  while (true) {
    const std::string path = parent + "/" + prefix + random_name();
    if (::mkdir(path.c_str(), 0777) == 0) {
      registry().folders.insert(path);
      return ScratchFolder(path);
    }
    if (errno != EEXIST) {
      return error(Code::file, Loc{parent, {}, {}}, "cannot create a folder in it: {}",
                   std::strerror(errno));
    }
  }
}

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code ec;
  fs::path parent = fs::temp_directory_path(ec);
  if (!ec) parent = fs::absolute(parent, ec);  // programs that run in it have its name, too
  if (ec) return error(Code::file, "there is no folder for temporary files: {}", ec.message());
  QC_ASSIGN(ScratchFolder folder, create(parent.string(), "quantc."));
  ::chmod(folder.path().c_str(), 0700);
  return folder;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  const std::lock_guard lock(registry().mutex);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  registry().folders.erase(path_);
}

void ScratchFolder::keep() {
  const std::lock_guard lock(registry().mutex);
  registry().folders.erase(path_);
  path_.clear();
}

Uninterrupted::Uninterrupted() : lock_(registry().mutex) {}

RunningTool::RunningTool(pid_t group) {
  const std::lock_guard lock(registry().mutex);
  registry().tool = group;
}

RunningTool::~RunningTool() {
  const std::lock_guard lock(registry().mutex);
  registry().tool = 0;
}

void clean_up_on_signals() {
  const sigset_t signals = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    std::thread(wait_and_clean_up, signals).detach();
  } catch (const std::system_error&) {  // no thread can start: signals end the process as always
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
}

void restore_signals() {
  const sigset_t signals = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::signal(SIGXFSZ, SIG_DFL);
}

}  // namespace qc
