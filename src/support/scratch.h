// Folders for work in progress. They go away with what is in them when their owner does, and when a
// signal ends the process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

#include "support/result.h"

namespace qc {

/// A fresh folder of this process alone; removed, with what is in it, when this goes away. Removing
/// takes no memory, so that it succeeds where memory is what was refused.
class ScratchFolder {
 public:
  /// Makes `parent`/`prefix`XXXX, a name that was not there.
  static Result<ScratchFolder> create(const std::string& parent, const std::string& prefix);
  /// The same in the system's folder for temporary files.
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const;
  /// The folder has become something that stays.
  void keep();

 private:
  struct Entry;  // of the list of all scratch folders
  explicit ScratchFolder(std::unique_ptr<Entry> entry);
  friend void remove_leftovers() noexcept;
  std::unique_ptr<Entry> entry_;  // null once it is kept
};

/// Ends the running tool and removes all scratch folders of the process, which ends now. Safe in a
/// signal handler.
void remove_leftovers() noexcept;

/// While one lives, no signal ends the process: for steps that must not stop half-way.
class Uninterrupted {
 public:
  Uninterrupted();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// A program this process waits for, with all it starts; it is ended before folders are removed,
/// and where this goes away while it still runs.
class RunningTool {
 public:
  explicit RunningTool(pid_t group);
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;
  ~RunningTool();

 private:
  pid_t group_;
};

/// From now on signals that end the process first remove all scratch folders, then end it as they
/// would have: SIGINT, SIGTERM and SIGHUP between steps, crashes and limits of the system at once.
/// Call it before any thread starts; signals that are ignored stay so.
void clean_up_on_signals();
/// Gives a child process, before it becomes another program, the signals as they were.
void restore_signals();

}  // namespace qc
