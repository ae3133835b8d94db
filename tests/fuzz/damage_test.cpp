// Damaged model files: cut short anywhere, or with any byte changed, a file gives a graph that goes
// through the whole compiler, or an error that names the file. Nothing crashes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "driver/build.h"
#include "driver/load.h"
#include "tests/fuzz/exercise.h"
#include "tests/support/isolate.h"

namespace qc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmall = 8 * 1024;  // files up to this size are cut and changed at every byte

std::vector<std::string> files_in(const char* folder,
                                  std::initializer_list<const char*> extensions) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    for (const char* extension : extensions) {
      if (entry.path().extension() == extension) out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Models of every format, tiny to a few megabytes; those made to be costly have tests of their
/// own.
std::vector<std::string> models() {
  std::vector<std::string> out;
  for (const char* folder : {"tests/fuzz/corpus", "tests/data/pt2", "tests/models"}) {
    for (std::string& f : files_in(folder, {".onnx", ".pt2", ".ir"})) out.push_back(std::move(f));
  }
  return out;
}

/// Starts and ends of the messages in a ModelProto and in its graph.
void add_messages(std::string_view bytes, std::string_view message, std::set<size_t>& out) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const bool graph = reader.tag() == 7;
    const auto view = reader.get_view();
    const auto begin = static_cast<size_t>(view.data() - bytes.data());
    out.insert({begin, begin + view.size()});
    if (graph) add_messages(bytes, {view.data(), view.size()}, out);
  }
}

/// Starts of the records of a zip archive.
void add_records(std::string_view bytes, std::set<size_t>& out) {
  for (size_t at = bytes.find("PK"); at != bytes.npos; at = bytes.find("PK", at + 1)) {
    out.insert(at);
  }
}

/// Sizes to cut the file to: every one of small files, else multiples of 1 KiB and the boundaries
/// of what the file consists of.
std::set<size_t> cuts(const std::string& path, const std::string& bytes) {
  std::set<size_t> out;
  const size_t step = bytes.size() <= kSmall ? 1 : 1024;
  for (size_t size = 0; size < bytes.size(); size += step) out.insert(size);
  if (path.ends_with(".onnx")) add_messages(bytes, bytes, out);
  if (path.ends_with(".pt2")) add_records(bytes, out);
  out.erase(bytes.size());
  return out;
}

/// A copy of a model in a folder of its own, to be damaged.
class Damage : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    path_ = folder_->path() + "/damaged.model";
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  /// Damages the file `count` times by `damage(i)`, which says what it did, and loads and exercises
  /// it each time: a failed test unless that ends as it should.
  void check(size_t count, const std::function<std::string(size_t)>& damage) {
    const auto results = run_isolated(
        count,
        [&](size_t i) {
          damage(i);
          return try_file();
        },
        20);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == "graph") {
        ++graphs_;
      } else if (results[i] == "refused") {
        ++refusals_;
      } else {
        ADD_FAILURE() << damage(i) << ": " << results[i];
      }
    }
  }

  std::string path_;
  size_t graphs_ = 0, refusals_ = 0;

 private:
  /// "graph", "refused", or what is wrong.
  std::string try_file() {
    auto graph = load_model(path_);
    if (!graph.ok()) return judge(graph.diag(), "refused");
    auto done = exercise(**graph);
    return done.ok() ? "graph" : judge(done.diag(), "graph");
  }
  std::string judge(const Diag& diag, const char* good) {
    const bool names_file = diag.loc.file == path_;
    if (names_file && diag.code != Code::bug && !diag.text.empty()) return good;
    return (names_file ? "" : "does not name the file: ") + render(diag);
  }
  std::optional<ScratchFolder> folder_;
};

TEST_F(Damage, CutFiles) {
  for (const std::string& model : models()) {
    const std::string bytes = *read_text(model);
    const std::set<size_t> set = cuts(model, bytes);
    const std::vector<size_t> sizes(set.rbegin(), set.rend());
    write(bytes);
    check(sizes.size(), [&](size_t i) {
      const bool cut = ::truncate(path_.c_str(), static_cast<off_t>(sizes[i])) == 0;
      return fmt::format("{} {} to {} bytes", model, cut ? "cut" : "could not be cut", sizes[i]);
    });
  }
  EXPECT_GT(refusals_, 10000u);
}

TEST_F(Damage, ChangedBytes) {
  for (const std::string& model : models()) {
    const std::string bytes = *read_text(model);
    if (bytes.size() > kSmall) continue;
    write(bytes);
    const int fd = ::open(path_.c_str(), O_WRONLY);
    ASSERT_GE(fd, 0);
    auto put = [&](size_t at, char byte) {
      return ::pwrite(fd, &byte, 1, static_cast<off_t>(at)) == 1;
    };
    check(2 * bytes.size(), [&](size_t i) {
      const size_t at = i / 2;
      const auto change = static_cast<char>(i % 2 ? 0xff : 1 << (at % 8));
      const auto byte = static_cast<char>(bytes[at] ^ change);
      const bool changed = (at == 0 || put(at - 1, bytes[at - 1])) && put(at, byte);
      return fmt::format("{} {} byte {} {:#x}", model, changed ? "with" : "could not change", at,
                         static_cast<uint8_t>(byte));
    });
    ::close(fd);
  }
  EXPECT_GT(graphs_, 1000u);
  EXPECT_GT(refusals_, 10000u);
}

}  // namespace
}  // namespace qc
