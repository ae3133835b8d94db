#include "quant/name_pattern.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <random>

namespace qc {
namespace {

using Names = std::vector<std::string>;

TEST(NamePattern, ReadsNamesThatAreSpelledOut) {
  const auto one = spelled_names("net\\.act$");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->names, Names{"net.act"});
  EXPECT_TRUE(one->whole);
  const auto some = spelled_names("(?:b|a\\|c|b)$");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->names, (Names{"a|c", "b"}));
  const auto starts = spelled_names("block1|a|block|ab");
  ASSERT_TRUE(starts);
  EXPECT_EQ(starts->names, (Names{"a", "block"}));
  EXPECT_FALSE(starts->whole);
}

TEST(NamePattern, LeavesTheRestToTheExpression) {
  for (const char* text : {"", "a|b$", "(?:a|)$", "a.b", "a*", "\\d", "\\x{41}", "^a", "a$b", "(a)",
                           "(?:a)b", "[a]", "a\\", "(?i)a", "\\Qa\\E", "a\xff"}) {
    EXPECT_FALSE(spelled_names(text)) << text;
  }
}

/// What is spelled out means the same as the expression does.
TEST(NamePattern, MatchesAsTheExpression) {
  std::mt19937 random(1);
  const auto some = [&](std::string_view letters, int most) {
    std::string out;
    for (int n = static_cast<int>(random() % static_cast<unsigned>(most)) + 1; n > 0; --n)
      out += letters[random() % letters.size()];
    return out;
  };
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  int spelled = 0, matched = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = some("aab_\\.|-/:", 6);
    if (random() % 2) text = "(?:" + text + ")";
    if (random() % 2) text += "$";
    const re2::RE2 regex(text, quiet);
    if (!spelled_names(text)) continue;
    ASSERT_TRUE(regex.ok()) << text;
    ++spelled;
    const NamePattern pattern(text);
    for (int k = 0; k < 20; ++k) {
      const std::string name = some("ab_.|-/:", 4);
      const bool wanted = regex.Match(name, 0, name.size(), re2::RE2::ANCHOR_START, nullptr, 0);
      EXPECT_EQ(pattern.matches(name), wanted) << text << " on " << name;
      matched += wanted;
    }
  }
  EXPECT_GT(spelled, 2000);
  EXPECT_GT(matched, 2000);
}

}  // namespace
}  // namespace qc
