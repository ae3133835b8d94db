#include "support/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/budget.h"
#include "support/descriptor.h"
#include "support/file.h"

namespace qc {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = "quantc checksum ";
constexpr size_t kDigits = 16;

/// How the comment with the checksum is written, by the end of the file's name.
struct Comment {
  std::string_view suffix, open, close;
};
constexpr Comment kComments[] = {
    {".c", "/* ", " */\n"}, {".cu", "/* ", " */\n"},  {".h", "/* ", " */\n"},
    {".S", "/* ", " */\n"}, {"Makefile", "# ", "\n"}, {".txt", "# ", "\n"},
};

const Comment* comment_of(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kComments, [&](const Comment& c) { return name.ends_with(c.suffix); });
  return found == std::end(kComments) ? nullptr : found;
}

std::string digits(const Checksum& checksum) { return fmt::format("{:016x}", checksum.value()); }

Diag system_error(const std::string& path, const char* action) {
  return error(Code::file, Loc{path, {}, {}}, "cannot {}: {}", action, std::strerror(errno));
}

/// Adds the first `size` bytes of the file to the checksum; false where it cannot be read.
bool add_bytes(int fd, uint64_t size, Checksum& out) {
  std::vector<char> chunk(1 << 20);
  for (uint64_t at = 0; at < size;) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(chunk.size(), size - at));
    const ssize_t n = ::pread(fd, chunk.data(), wanted, static_cast<off_t>(at));
    if (n <= 0) return false;
    out.add(chunk.data(), static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return true;
}

/// Whether the file ends in the checksum of what is before it.
bool is_own(int fd, uint64_t size) {
  char tail[64];
  const size_t length = static_cast<size_t>(std::min<uint64_t>(size, sizeof tail));
  if (::pread(fd, tail, length, static_cast<off_t>(size - length)) != static_cast<ssize_t>(length))
    return false;
  const std::string_view end(tail, length);
  const size_t mark = end.rfind(kMark);
  if (mark == end.npos || length - mark < kMark.size() + kDigits) return false;
  const std::string_view before_mark = end.substr(0, mark);
  const auto* comment = std::ranges::find_if(
      kComments, [&](const Comment& c) { return before_mark.ends_with(c.open); });
  const std::string_view close = comment == std::end(kComments) ? "" : comment->close;
  if (end.substr(mark + kMark.size() + kDigits) != close) return false;
  Checksum before;
  return add_bytes(fd, size - (length - mark), before) &&
         digits(before) == end.substr(mark + kMark.size(), kDigits);
}

/// Whether the file `by` of the folder is quantc's own and holds the checksum of the open one.
bool is_vouched(int folder, const std::string& by, int fd, uint64_t size) {
  const Descriptor other(::openat(folder, by.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  Checksum sum;
  if (other.fd < 0 || ::fstat(other.fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const auto length = static_cast<uint64_t>(st.st_size);
  if (!is_own(other.fd, length) || !add_bytes(fd, size, sum)) return false;
  std::string text(length, '\0');
  return ::pread(other.fd, text.data(), length, 0) == static_cast<ssize_t>(length) &&
         text.find(digits(sum)) != text.npos;
}

/// Whether a link leads to a device, a pipe or a folder, or passes through /proc, where
/// links stand for open files (/dev/stdout). Replacing such a link would break it for every
/// program.
bool is_system_link(const std::string& path) {
  constexpr int kMostLinks = 40;  // the system's own limit
  fs::path at = path;
  std::error_code ec;
  for (int i = 0; i < kMostLinks && fs::is_symlink(at, ec); ++i) {
    const fs::path target = fs::read_symlink(at, ec);
    at = (target.is_absolute() ? target : at.parent_path() / target).lexically_normal();
    const std::string& to = at.native();
    if (to.starts_with("/proc/") || to.starts_with("/dev/fd/")) return true;
  }
  return fs::exists(path, ec) && !fs::is_regular_file(path, ec);
}

/// Whether there is something of this name, and that it may be replaced. `path` is for messages.
Result<bool> replaceable(int folder, const std::string& name, const std::string& vouched_by,
                         const std::string& path, Overwrite overwrite) {
  struct stat st {};
  if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return system_error(path, "write");
  }
  const Loc loc{path, {}, {}};
  if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
    return error(Code::file, loc, "is no regular file, which an output could replace");
  }
  if (S_ISLNK(st.st_mode) && is_system_link(path)) {
    return error(
        Code::file, loc,
        "is a link to what is no regular file, which an output could replace: name a file");
  }
  if (is_input(st)) {
    return error(Code::file, loc, "is an input of this command: give the output another name");
  }
  if (overwrite == Overwrite::any) return true;
  const Descriptor old(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const auto size = static_cast<uint64_t>(st.st_size);
  const bool own =
      old.fd >= 0 && S_ISREG(st.st_mode) &&
      (vouched_by.empty() ? is_own(old.fd, size) : is_vouched(folder, vouched_by, old.fd, size));
  if (own) return true;
  return error(Code::file, loc,
               "is already there, and was not written by quantc or was changed since: move it away "
               "or choose another place; --force replaces it");
}

/// The nearest folder on the way to `dir` that exists.
std::string existing_part(const std::string& dir) {
  fs::path path(dir);
  std::error_code ec;
  while (!path.empty() && !fs::exists(path, ec)) {
    const fs::path parent = path.parent_path();
    path = parent == path ? fs::path() : parent;
  }
  return path.empty() ? "." : path.string();
}

/// Folders on the way to an output; those that it made are removed again unless they are kept.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) ::rmdir(it->c_str());
  }

  Result<Ok> make(const fs::path& dir) {
    std::error_code ec;
    if (dir.empty() || fs::is_directory(dir, ec)) return Ok{};
    QC_TRY(make(dir.parent_path()));
    made_.push_back(dir.string());  // before it is there: memory may be refused
    if (::mkdir(dir.c_str(), 0777) == 0) return Ok{};
    const int reason = errno;
    made_.pop_back();
    errno = reason;
    if (errno != EEXIST) return system_error(dir.string(), "create folder");
    return Ok{};
  }
  void keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // outermost first
};

Result<Ok> sync_file(int folder, const char* name, const std::string& path) {
  const Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  // Some file systems cannot; then there is nothing more to do.
  if (file.fd < 0 || (::fsync(file.fd) != 0 && errno != EINVAL)) return system_error(path, "write");
  return Ok{};
}

/// Moves files into a folder one by one; those it replaces are kept until all are there, and put
/// back where not all are. All memory is there before the first is moved.
class Exchange {
 public:
  Exchange(int stage, int folder, size_t count) : stage_(stage), folder_(folder) {
    moved_.reserve(count);
    for (size_t i = 0; i < count; ++i) old_names_.push_back(fmt::format(".old{}", i));
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    while (!moved_.empty()) {
      const Moved file = moved_.back();
      moved_.pop_back();
      if (file.replaces)
        ::renameat(stage_, old_names_[moved_.size()].c_str(), folder_, file.name);
      else
        ::unlinkat(folder_, file.name, 0);
    }
  }

  /// `name` outlives the exchange.
  bool move(const char* name, bool exists) {
    const char* old = old_names_[moved_.size()].c_str();
    if (exists && ::linkat(folder_, name, stage_, old, 0) != 0 &&
        ::renameat(folder_, name, stage_, old) != 0) {
      return false;
    }
    moved_.push_back({name, exists});
    return ::renameat(stage_, name, folder_, name) == 0;
  }
  void keep() { moved_.clear(); }

 private:
  struct Moved {
    const char* name;
    bool replaces;
  };
  int stage_, folder_;
  std::vector<std::string> old_names_;
  std::vector<Moved> moved_;
};

}  // namespace

std::string checksum_mark(std::string_view bytes) {
  Checksum sum;
  sum.add(bytes.data(), bytes.size());
  return std::string(kMark) + digits(sum);
}

Result<FileSet> FileSet::create(const std::string& dir, Overwrite overwrite) {
  const std::string parent = existing_part(dir);
  std::error_code ec;
  if (!fs::is_directory(parent, ec)) return error(Code::file, Loc{parent, {}, {}}, "not a folder");
  QC_ASSIGN(ScratchFolder stage, ScratchFolder::create(parent, ".quantc-"));
  FileSet out(dir, overwrite, std::move(stage));
  const std::string& path = out.stage_.path();
  out.fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (out.fd_ < 0) return system_error(path, "open");
  return out;
}

FileSet::FileSet(FileSet&& other) noexcept
    : dir_(std::move(other.dir_)),
      overwrite_(other.overwrite_),
      stage_(std::move(other.stage_)),
      fd_(std::exchange(other.fd_, -1)),
      open_(std::exchange(other.open_, -1)),
      marks_(other.marks_),
      checksum_(other.checksum_),
      files_(std::move(other.files_)) {}

FileSet::~FileSet() {
  if (open_ >= 0) ::close(open_);
  if (fd_ >= 0) ::close(fd_);
}

Result<Ok> FileSet::begin(const std::string& name, const std::string& vouched_by) {
  QC_CHECK(open_ < 0, "a file of this set is already open");
  const Uninterrupted whole;
  open_ = ::openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (open_ < 0) return system_error(dir_ + "/" + name, "create");
  checksum_ = {};
  files_.push_back({name, vouched_by});
  return Ok{};
}

Result<Ok> FileSet::append(const void* data, size_t size) {
  spend(Cost::emitted, static_cast<int64_t>(size));
  checksum_.add(data, size);
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(open_, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(dir_ + "/" + files_.back().name, "write");
    p += n;
    size -= static_cast<size_t>(n);
  }
  return Ok{};
}

Result<Ok> FileSet::end() {
  if (const Comment* comment = marks_ ? comment_of(files_.back().name) : nullptr) {
    QC_TRY(append(comment->open.data(), comment->open.size()));
    const std::string mark = std::string(kMark) + digits(checksum_) + std::string(comment->close);
    QC_TRY(append(mark.data(), mark.size()));
  }
  const int rc = ::close(std::exchange(open_, -1));
  if (rc != 0) return system_error(dir_ + "/" + files_.back().name, "write");
  return Ok{};
}

Result<Ok> FileSet::write(const std::string& name, std::string_view text) {
  QC_TRY(begin(name));
  QC_TRY(append(text.data(), text.size()));
  return end();
}

Result<Ok> FileSet::commit() {
  std::error_code ec;
  if (fs::is_directory(dir_, ec)) return exchange();
  Result<Ok> made = make_folder();
  // Another process may have made it in the meantime.
  return !made.ok() && fs::is_directory(dir_, ec) ? exchange() : made;
}

Result<Ok> FileSet::make_folder() {
  const Uninterrupted whole;
  NewFolders parents;
  QC_TRY(parents.make(fs::path(dir_ + "/").parent_path().parent_path()));
  // The folder appears whole: the one that was written becomes it.
  if (::rename(stage_.path().c_str(), dir_.c_str()) != 0)
    return system_error(dir_, "create folder");
  stage_.keep();
  parents.keep();
  return Ok{};
}

Result<Ok> FileSet::exchange() {
  const Descriptor folder(::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd < 0) return system_error(dir_, "open");
  while (::flock(folder.fd, LOCK_EX) != 0) {
    if (errno != EINTR) return system_error(dir_, "lock");
  }
  bool replaces = false;
  // What vouches for others comes first, so that the file that was changed is the one named.
  std::ranges::stable_partition(files_, [](const File& f) { return f.vouched_by.empty(); });
  for (File& file : files_) {
    QC_ASSIGN(file.exists, replaceable(folder.fd, file.name, file.vouched_by,
                                       dir_ + "/" + file.name, overwrite_));
    replaces = replaces || file.exists;
  }
  replaces = replaces && files_.size() > 1;
  if (replaces) {
    // After a loss of power files of two versions must not stand beside each other.
    for (const File& file : files_) {
      QC_TRY(sync_file(fd_, file.name.c_str(), dir_ + "/" + file.name));
    }
  }
  const Uninterrupted whole;
  Exchange exchange(fd_, folder.fd, files_.size());
  for (const File& file : files_) {
    if (!exchange.move(file.name.c_str(), file.exists))
      return system_error(dir_ + "/" + file.name, "write");
  }
  exchange.keep();
  if (replaces) ::fsync(folder.fd);
  return Ok{};
}

namespace {

std::string folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace

Result<Ok> check_output(const std::string& path, Overwrite overwrite) {
  const fs::path p(path);
  const Descriptor folder(::open(folder_of(p).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd < 0) return Ok{};  // it will be made
  QC_TRY(replaceable(folder.fd, p.filename().string(), "", path, overwrite));
  return Ok{};
}

Result<Ok> write_file(const std::string& path, std::string_view bytes) {
  const fs::path p(path);
  if (!p.has_filename()) return error(Code::file, Loc{path, {}, {}}, "is a folder");
  QC_ASSIGN(FileSet set, FileSet::create(folder_of(p), Overwrite::any));
  set.marks_ = false;
  QC_TRY(set.write(p.filename().string(), bytes));
  return set.commit();
}

}  // namespace qc
