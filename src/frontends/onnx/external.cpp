// External tensor data. The path in the file is hostile: it is resolved to a canonical one, which
// must lie below the model's folder, and then opened component by component without following
// links, so that nothing can be swapped in between.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "frontends/onnx/tensor.h"

namespace qc::onnx {
namespace fs = std::filesystem;
namespace {

/// The path of `target` relative to `root`, both canonical; empty when it does not lie below.
fs::path below(const fs::path& root, const fs::path& target) {
  fs::path relative = target.lexically_relative(root);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return {};
  return relative;
}

/// Opens root/relative, refusing a symbolic link at any component; -1 with errno set on failure.
int open_beneath(const fs::path& root, const fs::path& relative) {
  int at = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (auto it = relative.begin(); at >= 0 && it != relative.end(); ++it) {
    const int kind = std::next(it) == relative.end() ? O_NONBLOCK : O_DIRECTORY;
    const int next = ::openat(at, it->c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
    const int reason = errno;
    ::close(at);
    errno = reason;
    at = next;
  }
  return at;
}

/// A non-negative decimal number that is all of `text`.
std::optional<int64_t> decimal(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [p, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc{} || p != end || text.empty() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalFiles::map(const Loc& loc,
                                                             std::string_view location) {
  if (auto it = mapped_.find(location); it != mapped_.end()) return it->second;
  const fs::path path(location);
  if (model_path_.empty()) {
    return error(Code::path, loc, "external data '{}' needs a model that is a file", location);
  }
  if (location.empty() || location.find('\0') != std::string_view::npos) {
    return error(Code::path, loc, "the location of external data is empty or not a path");
  }
  if (path.is_absolute()) {
    return error(Code::path, loc, "external data at the absolute path '{}'", location);
  }
  if (*path.lexically_normal().begin() == "..") {
    return error(Code::path, loc, "external data '{}' lies outside the model's folder", location);
  }

  std::error_code ec;
  const fs::path model(model_path_);
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  fs::path root = fs::canonical(folder, ec);
  const fs::path target = ec ? fs::path() : fs::canonical(folder / path, ec);
  if (ec) {
    return error(Code::file, loc, "cannot open external data '{}': {}", location, ec.message());
  }
  fs::path relative = below(root, target);
  if (relative.empty() && fs::is_symlink(model, ec)) {
    root = fs::canonical(model, ec).parent_path();
    if (!ec) relative = below(root, target);
  }
  if (relative.empty()) {
    return error(Code::path, loc, "external data '{}' lies outside the model's folder", location);
  }

  const int fd = open_beneath(root, relative);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0) {
    const int reason = errno;
    if (fd >= 0) ::close(fd);
    return error(Code::file, loc, "cannot open external data '{}': {}", location,
                 std::strerror(reason));
  }
  if (!S_ISREG(st.st_mode) || st.st_nlink > 1) {
    ::close(fd);
    return error(Code::path, loc, "external data '{}' is {}", location,
                 S_ISREG(st.st_mode) ? "a hard link" : "not a regular file");
  }
  QC_ASSIGN(auto file, MappedFile::map(fd, target.string()));
  mapped_.emplace(location, file);
  return file;
}

Result<ExternalFiles::Part> ExternalFiles::open(const TensorProto& tensor) {
  Loc loc{model_path_, {}, "tensor"};
  if (!tensor.name.empty()) loc.names.emplace_back(tensor.name);
  std::optional<std::string_view> location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location") {
      location = value;
    } else if (key == "offset" || key == "length") {
      const auto number = decimal(value);
      if (!number) {
        return error(Code::format, loc, "external data {} '{}' is not a number of bytes", key,
                     value);
      }
      if (key == "offset") offset = *number;
      if (key == "length") length = *number;
    }
  }
  if (!location) return error(Code::format, loc, "external data without a location");
  QC_ASSIGN(auto file, map(loc, *location));
  const auto bytes = file->bytes();
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (offset > size || (length && *length > size - offset)) {
    return error(Code::format, loc,
                 "external data needs {} bytes from byte {} of '{}', which has {}",
                 length.value_or(0), offset, *location, size);
  }
  const int64_t take = length.value_or(size - offset);
  return Part{file, bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(take))};
}

}  // namespace qc::onnx
