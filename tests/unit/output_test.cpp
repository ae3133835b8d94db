// Escaping of names, and files that appear together.
#include "support/output.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "support/escape.h"
#include "support/file.h"

namespace qc {
namespace {

namespace fs = std::filesystem;

TEST(Escape, KnowsUtf8) {
  for (const char* good :
       {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xc3\xc3"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Escape, ShowsWhatTerminalsWouldObey) {
  EXPECT_EQ(shown("plain 'text' \xc3\xa4"), "plain 'text' \xc3\xa4");
  EXPECT_EQ(shown("a\nb\tc\x1b[2J\x7f"), "a\\nb\\x09c\\x1b[2J\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"
                  "1m\xe2\x80\xae\xff"),
            "\\u009b1m\\u202e\\xff");
  EXPECT_EQ(shown_lines("a\n\tb\r"), "a\n\tb\\x0d");
}

TEST(Escape, CutsBetweenCharacters) {
  EXPECT_EQ(clipped("abcdef", 6), "abcdef");
  EXPECT_EQ(clipped("abcdefg", 6), "abc...");
  EXPECT_EQ(clipped("ab\xe2\x82\xac\xe2\x82\xac", 6), "ab...");
}

TEST(Escape, OneFunctionForEachFormat) {
  const std::string name = "a\"'\\\n\x1b*/?\?=\xff&";
  EXPECT_EQ(json_string(name), "\"a\\\"'\\\\\\u000a\\u001b*/?\?=\\ufffd&\"");
  EXPECT_EQ(toml_string(name), json_string(name));
  EXPECT_EQ(toml_string("a\\d\""), "'a\\d\"'");
  EXPECT_EQ(toml_string("it's"), "\"it's\"");
  EXPECT_EQ(toml_string("a\nb"), "\"a\\u000ab\"");
  EXPECT_EQ(regex_literal("a.b\n\xff|"), "a\\.b\\x{a}\\C\\|");
  EXPECT_EQ(ir_string(name), "\"a\\\"'\\\\\\n\\x1b*/?\?=\\xff&\"");
  EXPECT_EQ(dot_string("op\na\\\"\x1b&"), "\"op\\na\\\\\\\"\\\\x1b&amp;\"");
  EXPECT_EQ(c_string("a\"\\?\n\xff"), "\"a\\042\\134\\077\\012\\377\"");
  EXPECT_EQ(c_comment("a*/b/*c\\\n?\?/\xff"), "a*.b/.c..../.");
}

class Output : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
  }
  std::string path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::map<std::string, std::string> all(const std::string& dir) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::directory_iterator(path(dir)))
      out[entry.path().filename().string()] = *read_text(entry.path().string());
    return out;
  }
  /// Writes files that hold their names and `text`.
  Result<Ok> write(const std::string& dir, const std::string& text, Overwrite overwrite) const {
    QC_ASSIGN(FileSet files, FileSet::create(path(dir), overwrite));
    for (const char* name : {"a.c", "Makefile"}) QC_TRY(files.write(name, name + text));
    return files.commit();
  }
  std::optional<ScratchFolder> folder_;
};

TEST_F(Output, AppearsAtTheEnd) {
  {
    auto files = FileSet::create(path("x/y/z"));
    ASSERT_TRUE(files.ok() && files->write("a.c", "text\n").ok());
    EXPECT_FALSE(fs::exists(path("x")));
  }
  EXPECT_TRUE(fs::is_empty(folder_->path()));
  ASSERT_TRUE(write("x/y/z", "\n", Overwrite::own).ok());
  const auto written = all("x/y/z");
  EXPECT_EQ(written.size(), 2);
  EXPECT_TRUE(written.at("a.c").starts_with("a.c\n/* quantc checksum "));
  EXPECT_TRUE(written.at("Makefile").starts_with("Makefile\n# quantc checksum "));
}

TEST_F(Output, KeepsWhatIsNotItsOwn) {
  ASSERT_TRUE(write("x", "1\n", Overwrite::own).ok());
  ASSERT_TRUE(write("x", "2\n", Overwrite::own).ok());
  const auto second = all("x");
  EXPECT_TRUE(second.at("a.c").starts_with("a.c2\n"));
  std::ofstream(path("x/Makefile"), std::ios::app) << "mine\n";
  const auto edited = all("x");
  const auto refused = write("x", "3\n", Overwrite::own);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.diag().loc.file.str().ends_with("/x/Makefile"));
  EXPECT_EQ(all("x"), edited);
  ASSERT_TRUE(write("x", "2\n", Overwrite::any).ok());
  EXPECT_EQ(all("x"), second);
}

TEST_F(Output, ReplacesNoFoldersAndFollowsNoLinks) {
  fs::create_directories(path("x/Makefile"));
  EXPECT_FALSE(write("x", "\n", Overwrite::any).ok());
  EXPECT_FALSE(fs::exists(path("x/a.c")));
  fs::remove(path("x/Makefile"));
  std::ofstream(path("victim")) << "precious";
  fs::create_symlink(path("victim"), path("x/Makefile"));
  EXPECT_FALSE(write("x", "\n", Overwrite::own).ok());
  EXPECT_TRUE(write("x", "\n", Overwrite::any).ok());
  EXPECT_EQ(*read_text(path("victim")), "precious");
}

TEST_F(Output, VouchesForBytes) {
  auto write_both = [&](const std::string& bytes) -> Result<Ok> {
    QC_ASSIGN(FileSet files, FileSet::create(path("x")));
    Checksum sum;
    sum.add(bytes.data(), bytes.size());
    QC_TRY(files.begin("w.bin", "w.h"));
    QC_TRY(files.append(bytes.data(), bytes.size()));
    QC_TRY(files.end());
    QC_TRY(files.write("w.h", fmt::format("hash {:016x}\n", sum.value())));
    return files.commit();
  };
  ASSERT_TRUE(write_both("12345678").ok());
  ASSERT_TRUE(write_both("abcdefghij").ok());
  EXPECT_EQ(all("x").at("w.bin"), "abcdefghij");
  std::ofstream(path("x/w.bin")) << "mine";
  EXPECT_FALSE(write_both("12345678").ok());
}

TEST_F(Output, SingleFilesHoldWhatWasGiven) {
  ASSERT_TRUE(write_file(path("n/a.c"), "1").ok());
  ASSERT_TRUE(write_file(path("n/a.c"), "2").ok());
  EXPECT_EQ(all("n").at("a.c"), "2");
  EXPECT_FALSE(write_file(path("n/"), "2").ok());
}

}  // namespace
}  // namespace qc
