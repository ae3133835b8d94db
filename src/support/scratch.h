// Folders for work in progress. They go away with what is in them when their owner does, and when a
// signal ends the process.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>

#include "support/result.h"

namespace qc {

/// A fresh folder of this process alone; removed, with what is in it, when this goes away.
class ScratchFolder {
 public:
  /// Makes `parent`/`prefix`XXXX, a name that was not there.
  static Result<ScratchFolder> create(const std::string& parent, const std::string& prefix);
  /// The same in the system's folder for temporary files.
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }
  /// The folder has become something that stays.
  void keep();

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// While one lives, no signal ends the process: for steps that must not stop half-way.
class Uninterrupted {
 public:
  Uninterrupted();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// A program this process waits for, with all it starts; it is ended before folders are removed.
class RunningTool {
 public:
  explicit RunningTool(pid_t group);
  ~RunningTool();
};

/// From now on SIGINT, SIGTERM and SIGHUP first remove all scratch folders, then end the process as
/// they would have. Call it before any thread starts; signals that are ignored stay so.
void clean_up_on_signals();
/// Gives a child process, before it becomes another program, the signals as they were.
void restore_signals();

}  // namespace qc
