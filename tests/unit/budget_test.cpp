// The budget of a load and compile, and the depth of TOML files.
#include "support/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "ir/tensor.h"
#include "support/threads.h"
#include "support/toml_shape.h"

namespace qc {
namespace {

template <class F>
Result<Ok> all_of(Budget& budget, F&& f) {
  return within(&budget, [&] {
    f();
    return Result<Ok>(Ok{});
  });
}

TEST(Budget, IsSpentWithAMessageThatNamesThePlaceAndTheOption) {
  Budget budget;
  const Loc loc{"m.onnx", {"conv1"}, "Conv"};
  const auto done = all_of(budget, [&] {
    const Doing outer("fold_constants");
    const Doing inner("evaluating", &loc);
    spend(Cost::work, budget.limit(Cost::work) - 1);
    spend(Cost::work, 2);
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(render(done.diag()).find("m.onnx: error[limit]: Conv 'conv1': evaluating: this needs"),
            0u)
      << render(done.diag());
  EXPECT_NE(done.diag().text.find("--budget 10"), std::string::npos);
  EXPECT_EQ(exit_status(done.diag()), 1);
}

TEST(Budget, GrowsWithTheFilesAndTheOption) {
  Budget budget;
  const int64_t least = budget.limit(Cost::work);
  budget.read_file(1, 1, 1000);
  EXPECT_EQ(budget.limit(Cost::work), least);
  budget.read_file(1, 2, 10 << 20);
  const int64_t grown = budget.limit(Cost::work);
  EXPECT_GE(grown, 10 * least);
  budget.read_file(1, 2, 10 << 20);  // the same file again
  EXPECT_EQ(budget.limit(Cost::work), grown);
  budget.set_factor(3);
  EXPECT_EQ(budget.limit(Cost::work), 3 * grown);
  const Budget again(budget);
  EXPECT_EQ(again.limit(Cost::work), 3 * grown);
  EXPECT_EQ(again.spent(Cost::work), 0);
  budget.set_factor(INT64_MAX);
  EXPECT_EQ(budget.limit(Cost::work), INT64_MAX);
}

TEST(Budget, TensorsGiveTheirBytesBack) {
  Budget budget;
  const int64_t half = budget.limit(Cost::tensors) / 2 + 1;
  EXPECT_TRUE(all_of(budget, [&] {
                for (int i = 0; i < 3; ++i) Tensor(DType::u8, {half});
              }).ok());
  Budget second;
  const auto both = all_of(second, [&] { Tensor a(DType::u8, {half}), b(DType::u8, {half}); });
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.diag().code, Code::limit);
  Budget third;  // what was refused is not held
  EXPECT_TRUE(all_of(third, [&] { Tensor(DType::u8, {half}); }).ok());
}

TEST(Budget, WorkOutsideOfOneIsNotCounted) {
  spend(Cost::work, INT64_MAX);
  Budget budget;
  const auto done =
      all_of(budget, [&] { std::thread([] { spend(Cost::work, INT64_MAX); }).join(); });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(budget.spent(Cost::work), 0);
}

TEST(Budget, BindsOtherThreadsWhenOneHasOverdrawnIt) {
  Budget budget;
  const auto overdraw = [&] { spend(Cost::work, budget.limit(Cost::work) + 1); };
  bool first = true;
  std::thread([&] { first = all_of(budget, overdraw).ok(); }).join();
  EXPECT_FALSE(first);
  EXPECT_FALSE(all_of(budget, overdraw).ok());
}

TEST(Budget, StaysSpentWhereALibrarySwallowsIt) {
  Budget budget;
  int swallowed = 0;
  const auto done = all_of(budget, [&] {
    for (const Cost cost : {Cost::work, Cost::tensors, Cost::memory}) {
      try {
        if (cost == Cost::work)
          spend(cost, budget.limit(cost) + 1);
        else
          hold(cost, 1);  // refused, although there would be room
      } catch (const std::bad_alloc&) {
        ++swallowed;
      }
    }
    spend(Cost::work, 0);
    ADD_FAILURE() << "a spent budget lets work pass";
  });
  EXPECT_EQ(swallowed, 3);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.diag().code, Code::limit);
  EXPECT_TRUE(all_of(budget, [] {}).ok());  // nothing was counted
  EXPECT_FALSE(all_of(budget, [] { spend(Cost::work, 1); }).ok());
}

TEST(Budget, RefusesNothingWhileTheStackUnwinds) {
  struct Cleanup {
    bool& ended;
    ~Cleanup() {
      spend(Cost::work, 1);
      hold(Cost::tensors, 1);
      release(Cost::tensors, 1);
      ended = true;
    }
  };
  Budget budget;
  bool ended = false;
  const auto done = all_of(budget, [&] {
    const Cleanup cleanup{ended};
    spend(Cost::work, budget.limit(Cost::work) + 1);
  });
  EXPECT_FALSE(done.ok());
  EXPECT_TRUE(ended);
}

TEST(Threads, ThrowWhatAPartThrewOnceAllHaveEnded) {
  Threads threads(4);
  for (const int32_t bad : {0, 3}) {
    std::atomic<int> ended = 0;
    const auto part = [&](int32_t first, int32_t) {
      ++ended;
      if (first == bad) throw Bug("part");
    };
    EXPECT_THROW(threads.run(4, part), Bug);
    EXPECT_EQ(ended, 4);
  }
  int32_t sum = 0;
  std::mutex mutex;
  threads.run(4, [&](int32_t first, int32_t last) {
    const std::lock_guard lock(mutex);
    sum += last - first;
  });
  EXPECT_EQ(sum, 4);
}

TEST(TomlDepth, KeysAndValuesAreBounded) {
  auto ok = [](const std::string& text) { return check_toml_depth(text, Loc{}).ok(); };
  auto repeat = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  EXPECT_TRUE(ok("a.b.c = [1.5, 2.5]\n[x.y]\n'a.b' = \"\"\"[[[ \n ''' \"\"\"\n# .....\n"));
  EXPECT_TRUE(ok("scale = [" + repeat("0.5, ", 1000) + "]\nk = '" + repeat(".[", 1000) + "'"));
  EXPECT_TRUE(ok(repeat("[[rule]]\nx.y = {a.b = 1, c.d = [2]}\n", 1000)));
  EXPECT_FALSE(ok(repeat("a.", 100000) + "a = 1"));
  EXPECT_FALSE(ok("[" + repeat("a.", 100) + "a]"));
  EXPECT_FALSE(ok("[[" + repeat("'a'.", 100) + "a]]"));
  EXPECT_FALSE(ok("x = {" + repeat("a.", 100) + "a = 1}"));
  EXPECT_FALSE(ok("x = " + repeat("[", 100)));
  EXPECT_FALSE(ok("x = " + repeat("{a = ", 100)));
  EXPECT_FALSE(ok("x = 1\r\n" + repeat("\"a\" . ", 100)));
  for (const char* header : {"[\xc3\xa9]", "[[@x]]", "[=]", "  [", "x = 1\n[[ ]]"}) {
    EXPECT_FALSE(ok(header)) << header;
  }
  EXPECT_TRUE(ok("[ a ]\n[[ 'b' ]]\nx = [\n[@\n]]"));
  for (const char* broken : {"'", "\"\"\"", "\"\\", "]", "}", ",", "="}) EXPECT_TRUE(ok(broken));
}

}  // namespace
}  // namespace qc
