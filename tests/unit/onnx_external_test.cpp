#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "frontends/onnx/tensor.h"
#include "onnx_bytes.h"

namespace qc::onnx {
namespace fs = std::filesystem;
namespace {
using namespace onnx_bytes;

/// A folder with model/t.pb, model/data.bin (16 bytes), model/sub/ and a secret outside.
class OnnxExternal : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "quantc_external_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    fs::create_directories(top_ / "model/sub");
    fs::create_directories(top_ / "outside");
    write(top_ / "model/data.bin", raw<float>({1, 2, 3, 4}));
    write(top_ / "outside/secret", raw<float>({9, 9, 9, 9}));
  }
  void TearDown() override { fs::remove_all(top_); }

  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  using Keys = std::initializer_list<std::pair<const char*, std::string>>;
  Result<NamedTensor> load(Keys keys, const char* folder = "model",
                           std::vector<int64_t> dims = {2}) {
    write(top_ / folder / "t.pb", external_tensor(dims, 1, keys));
    return read_tensor_file((top_ / folder / "t.pb").string());
  }
  Code code(Keys keys, const char* folder = "model") {
    auto r = load(keys, folder);
    EXPECT_FALSE(r.ok());
    if (r.ok()) return Code::bug;
    EXPECT_EQ(r.diag().loc.names, std::vector<std::string>{"w"}) << "the tensor is named";
    return r.diag().code;
  }
  fs::path top_;
};

TEST_F(OnnxExternal, ReadsAPartOfAFile) {
  auto r = load({{"location", "data.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "x"}});
  ASSERT_TRUE(r.ok()) << render(r.diag());
  EXPECT_EQ(r->name, "w");
  EXPECT_EQ(r->tensor.data<float>()[0], 2);
  EXPECT_EQ(r->tensor.data<float>()[1], 3);
}

TEST_F(OnnxExternal, MissingLengthMeansTheRest) {
  auto r = load({{"location", "sub/../data.bin"}, {"offset", "8"}});
  ASSERT_TRUE(r.ok()) << render(r.diag());
  EXPECT_EQ(r->tensor.data<float>()[1], 4);
}

TEST_F(OnnxExternal, SymlinkInsideTheFolderIsFollowed) {
  fs::create_symlink("../data.bin", top_ / "model/sub/link");
  auto r = load({{"location", "sub/link"}, {"length", "8"}});
  ASSERT_TRUE(r.ok()) << render(r.diag());
}

TEST_F(OnnxExternal, LinkedModelMayUseTheFolderOfTheRealFile) {
  fs::create_directories(top_ / "snapshot");
  fs::create_symlink("../model/data.bin", top_ / "snapshot/data.bin");
  write(top_ / "model/t.pb", external_tensor({2}, 1, {{"location", "data.bin"}, {"length", "8"}}));
  fs::create_symlink("../model/t.pb", top_ / "snapshot/t.pb");
  auto r = read_tensor_file((top_ / "snapshot/t.pb").string());
  ASSERT_TRUE(r.ok()) << render(r.diag());
}

TEST_F(OnnxExternal, RefusesPathsThatLeaveTheFolder) {
  EXPECT_EQ(code({{"location", "../outside/secret"}}), Code::path);
  EXPECT_EQ(code({{"location", "sub/../../outside/secret"}}), Code::path);
  EXPECT_EQ(code({{"location", (top_ / "outside/secret").string()}}), Code::path);
  EXPECT_EQ(code({{"location", ".."}}), Code::path);
  EXPECT_EQ(code({{"location", "."}}), Code::path);
  EXPECT_EQ(code({{"location", ""}}), Code::path);
  EXPECT_EQ(code({{"location", std::string("data.bin\0x", 10)}}), Code::path);
}

TEST_F(OnnxExternal, RefusesSymlinksThatLeaveTheFolder) {
  fs::create_symlink("../outside/secret", top_ / "model/last");
  fs::create_symlink("../outside", top_ / "model/dir");
  EXPECT_EQ(code({{"location", "last"}}), Code::path);
  EXPECT_EQ(code({{"location", "dir/secret"}}), Code::path);
}

TEST_F(OnnxExternal, RefusesHardLinks) {
  fs::create_hard_link(top_ / "outside/secret", top_ / "model/hard");
  EXPECT_EQ(code({{"location", "hard"}}), Code::path);
}

TEST_F(OnnxExternal, RefusesWhatIsNotARegularFile) {
  ASSERT_EQ(::mkfifo((top_ / "model/fifo").c_str(), 0600), 0);
  EXPECT_EQ(code({{"location", "fifo"}}), Code::path);
  EXPECT_EQ(code({{"location", "sub"}}), Code::path);
}

TEST_F(OnnxExternal, ChecksOffsetAndLength) {
  EXPECT_EQ(code({{"location", "data.bin"}, {"offset", "17"}}), Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"offset", "12"}, {"length", "8"}}), Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"offset", "8"}, {"length", "9223372036854775807"}}),
            Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"offset", "-4"}}), Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"offset", "4x"}}), Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"length", "99999999999999999999"}}), Code::format);
  EXPECT_EQ(code({{"location", "data.bin"}, {"length", "12"}}), Code::format)
      << "more bytes than the tensor has";
  EXPECT_EQ(code({{"offset", "0"}}), Code::format) << "no location";
}

TEST_F(OnnxExternal, MissingFileIsAFileError) {
  EXPECT_EQ(code({{"location", "nothing"}}), Code::file);
}

TEST_F(OnnxExternal, ModelsInMemoryHaveNoExternalData) {
  const std::string bytes = external_tensor({2}, 1, {{"location", "data.bin"}});
  auto proto = parse_tensor(as_bytes(bytes), "");
  auto r = TensorReader().read(*proto);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diag().code, Code::path);
}

TEST_F(OnnxExternal, AlignedDataIsBorrowedFromTheMapping) {
  write(top_ / "model/t.pb", external_tensor({2}, 1, {{"location", "data.bin"}, {"length", "8"}}));
  auto file = MappedFile::open((top_ / "model/t.pb").string());
  ASSERT_TRUE(file.ok());
  auto proto = parse_tensor((*file)->bytes(), "");
  TensorReader reader(*file);
  auto a = reader.read(*proto);
  auto b = reader.read(*proto);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->bytes().data(), b->bytes().data());
}

}  // namespace
}  // namespace qc::onnx
