// Result, Interned and the memory of nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "ir/graph.h"
#include "ir/pool.h"
#include "support/bug.h"
#include "support/checksum.h"
#include "support/interned.h"
#include "support/result.h"

namespace qc {
namespace {

TEST(Interned, EqualTextsAreOneString) {
  const Interned a("model.onnx"), b(std::string("model.") + "onnx"), c("other");
  EXPECT_EQ(&a.str(), &b.str());
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  EXPECT_TRUE(a == "model.onnx");
  EXPECT_TRUE(Interned().empty());
  EXPECT_TRUE(Interned("") == Interned());
}

TEST(Result, KeepsItsValueOrDiagnosticWhenCopiedMovedAndAssigned) {
  Result<std::string> good = std::string("yes");
  Result<std::string> bad = error(Code::shape, Loc{"f", {"n"}, "Conv"}, "expected {}", 3);
  Result<std::string> copy = bad;
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.diag().text, "expected 3");
  EXPECT_EQ(bad.diag().loc, copy.diag().loc);
  copy = good;
  EXPECT_EQ(*copy, "yes");
  good = std::move(bad);
  ASSERT_FALSE(good.ok());
  EXPECT_EQ(good.diag().loc.names, std::vector<std::string>{"n"});
  good = std::string("again");
  EXPECT_EQ(good.value(), "again");
}

TEST(Result, HoldsWhatCannotBeCopied) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  auto use = [&]() -> Result<int> {
    QC_ASSIGN(auto owned, make());
    return *owned;
  };
  EXPECT_EQ(*use(), 7);
}

TEST(Result, WrongAccessIsABug) {
  const Result<int> bad = error(Code::shape, "no");
  EXPECT_THROW((void)bad.value(), Bug);
  EXPECT_THROW((void)Result<int>(1).diag(), Bug);
}

TEST(Pool, GivesBlocksOfTheirOwnAndTakesThemBack) {
  std::vector<char*> blocks;
  for (size_t i = 0; i < 5000; ++i) {
    const size_t bytes = 1 + i % 1500;
    blocks.push_back(static_cast<char*>(pool_allocate(bytes)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % 16, 0u);
    std::fill_n(blocks.back(), bytes, static_cast<char>(i));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t bytes = 1 + i % 1500;
    EXPECT_EQ(std::count(blocks[i], blocks[i] + bytes, static_cast<char>(i)), bytes);
    pool_release(blocks[i], bytes);
  }
}

TEST(Graph, NumbersItsValues) {
  Graph graph;
  const Value* a = graph.add_input("a", Type(DType::f32, {2}));
  const Value* b = graph.add_input("b", Type(DType::f32, {2}));
  EXPECT_NE(a->number(), b->number());
  EXPECT_LT(std::max(a->number(), b->number()), graph.value_bound());
}

// FNV-1a over words of 8 bytes, the least byte first, as the header says: neither where pieces are
// split nor how words are loaded matters.
TEST(Checksum, IsThatOfWordsWhereverPiecesAreSplit) {
  const std::string text = "a checksum over words of eight bytes";
  uint64_t expected = 0xcbf29ce484222325u;
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    const size_t count = std::min<size_t>(8, text.size() - at);
    for (size_t i = 0; i < count; ++i)
      word |= static_cast<uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
    if (count < 8) word |= static_cast<uint64_t>(count) << 56;
    expected = (expected ^ word) * 0x100000001b3u;
  }
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      Checksum sum;
      sum.add(text.data(), first);
      sum.add(text.data() + first, second - first);
      sum.add(text.data() + second, text.size() - second);
      EXPECT_EQ(sum.value(), expected) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace qc
