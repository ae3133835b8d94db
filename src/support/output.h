// Output files: written aside, then put in their places together.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/checksum.h"
#include "support/result.h"
#include "support/scratch.h"

namespace qc {

/// Which files that are already there an output may replace; inputs of the command never.
enum class Overwrite {
  own,  // those that quantc wrote and nobody changed since: their last line has a checksum
  any,
};

/// A set of files that appear together. Each is written into a fresh folder beside its final place;
/// `commit` puts all of them in place, or none. Two processes that write into one folder leave the
/// files of one of them. What was not committed is removed by the destructor and by signals.
class FileSet {
 public:
  /// Files go into `dir`, which is made by `commit` if missing.
  static Result<FileSet> create(const std::string& dir, Overwrite overwrite = Overwrite::own);
  FileSet(FileSet&&) noexcept;
  FileSet& operator=(FileSet&&) = delete;
  ~FileSet();

  /// Writes the whole file.
  Result<Ok> write(const std::string& name, std::string_view text);
  /// Opens a file for streaming; append to it with `append`. One stream is open at a time. Text
  /// that has comments ends in a checksum; a file without them is known by the one that
  /// `vouched_by`, another file of the set, names.
  Result<Ok> begin(const std::string& name, const std::string& vouched_by = "");
  Result<Ok> append(const void* data, size_t size);
  Result<Ok> end();
  /// Puts everything in its final place, or says why nothing was changed. It is the last step of a
  /// command that can fail: what reports the files is made before.
  Result<Ok> commit();

 private:
  struct File {
    std::string name, vouched_by;
    bool exists = false;  // in the folder, so that it will be replaced
  };
  FileSet(std::string dir, Overwrite overwrite, ScratchFolder stage)
      : dir_(std::move(dir)), overwrite_(overwrite), stage_(std::move(stage)) {}
  friend Result<Ok> write_file(const std::string& path, std::string_view bytes);
  Result<Ok> make_folder();
  Result<Ok> exchange();

  std::string dir_;
  Overwrite overwrite_;
  ScratchFolder stage_;
  int fd_ = -1;    // of the stage
  int open_ = -1;  // the file that is being written
  bool marks_ = true;
  Checksum checksum_;
  std::vector<File> files_;
};

/// Writes one file of just these bytes, which replaces what has its name unless that is an input.
Result<Ok> write_file(const std::string& path, std::string_view bytes);
/// The error that writing `path` would end in, known before the work is done.
Result<Ok> check_output(const std::string& path, Overwrite overwrite);

/// "quantc checksum 0123456789abcdef" of the bytes before it: how files that are not text end.
std::string checksum_mark(std::string_view bytes);

}  // namespace qc
