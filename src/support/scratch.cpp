#include "support/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace qc {
namespace fs = std::filesystem;
namespace {

/// Whoever holds it is not interrupted by signals that can wait. Never destroyed: the thread that
/// waits for signals may outlive everything.
std::recursive_mutex& uninterrupted() {
  static auto& one = *new std::recursive_mutex;
  return one;
}

std::atomic<pid_t> running_tool = 0;

/// Removes a file or a folder with what is in it. It allocates nothing and throws nothing, for it
/// runs in signal handlers.
void remove_all(int parent, const char* name) noexcept {
  if (::unlinkat(parent, name, 0) == 0 || ::unlinkat(parent, name, AT_REMOVEDIR) == 0) return;
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  alignas(dirent64) char entries[2048];
  for (long size; (size = ::syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const std::string_view inner = entry->d_name;
      if (inner != "." && inner != "..") remove_all(fd, entry->d_name);
    }
  }
  ::close(fd);
  ::unlinkat(parent, name, AT_REMOVEDIR);
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
  const std::lock_guard lock(uninterrupted());
  end_tool(running_tool);
  remove_leftovers();
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

/// A folder in the list of all. Handlers walk the list while a thread may be changing it, hence the
/// atomic links.
struct ScratchFolder::Entry {
  std::string path;
  std::atomic<Entry*> next = nullptr;
  static inline std::atomic<Entry*> first = nullptr;

  void enter() {
    next = first.load();
    first = this;
  }
  void leave() {
    std::atomic<Entry*>* link = &first;
    while (*link != this) link = &link->load()->next;
    *link = next.load();
  }
};

void remove_leftovers() noexcept {
  if (const pid_t group = running_tool; group > 0) ::kill(-group, SIGKILL);
  for (const auto* e = ScratchFolder::Entry::first.load(); e; e = e->next)
    remove_all(AT_FDCWD, e->path.c_str());
}

ScratchFolder::ScratchFolder(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}

Result<ScratchFolder> ScratchFolder::create(const std::string& parent, const std::string& prefix) {
  auto entry = std::make_unique<Entry>();
  const std::lock_guard lock(uninterrupted());
  while (true) {
    entry->path = parent + "/" + prefix + random_name();
    if (::mkdir(entry->path.c_str(), 0777) == 0) {
      entry->enter();  // from here on nothing allocates: who fails has no folder to remove
      return ScratchFolder(std::move(entry));
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

ScratchFolder::ScratchFolder(ScratchFolder&&) noexcept = default;

ScratchFolder::~ScratchFolder() {
  if (!entry_) return;
  const std::lock_guard lock(uninterrupted());
  remove_all(AT_FDCWD, entry_->path.c_str());
  entry_->leave();
}

const std::string& ScratchFolder::path() const { return entry_->path; }

void ScratchFolder::keep() {
  const std::lock_guard lock(uninterrupted());
  entry_->leave();
  entry_.reset();
}

Uninterrupted::Uninterrupted() : lock_(uninterrupted()) {}

RunningTool::RunningTool(pid_t group) : group_(group) { running_tool = group; }

RunningTool::~RunningTool() {
  if (::waitpid(group_, nullptr, WNOHANG) == 0) {  // nobody has waited for its end: an exception
    ::kill(-group_, SIGKILL);
    while (::waitpid(group_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  const std::lock_guard lock(uninterrupted());
  running_tool = 0;
}

namespace {

/// Signals that end a process where it stands, a thread that waits cannot be asked: crashes, limits
/// of the system, a closed pipe.
constexpr int kSudden[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTRAP,
                           SIGSYS,  SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM};

/// What a handler had before is its own again (SA_RESETHAND), so raising ends the process.
void clean_up_and_end(int signal) {
  remove_leftovers();
  ::raise(signal);
}

void handle_sudden_signals() {
  static char stack[1 << 16];  // for crashes that leave no stack
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  ::sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = clean_up_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : kSudden) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void clean_up_on_signals() {
  handle_sudden_signals();
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
