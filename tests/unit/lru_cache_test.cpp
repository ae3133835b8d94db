#include "support/lru_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace qc {
namespace {

TEST(LruCache, KeepsWhatWasUsedLast) {
  LruCache<std::string, int> cache(2);
  cache.put("a", 1);
  cache.put("b", 2);
  EXPECT_EQ(cache.get("a"), 1);  // so b is the one used longest ago
  cache.put("c", 3);
  EXPECT_EQ(cache.get("b"), std::nullopt);
  EXPECT_EQ(cache.get("a"), 1);
  EXPECT_EQ(cache.get("c"), 3);
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 3u);
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.evictions, 1u);
  EXPECT_EQ(stats.count, 2u);
  EXPECT_DOUBLE_EQ(stats.hit_rate(), 0.75);
}

TEST(LruCache, WhoLooksAgainCountsOnce) {
  LruCache<int, int> cache(2);
  EXPECT_FALSE(cache.get(1, false));  // then the caller waits for its turn, and looks again
  EXPECT_FALSE(cache.get(1));
  EXPECT_EQ(cache.stats().misses, 1u);
  EXPECT_FALSE(cache.get(2, false));
  cache.put(2, 3);  // somebody else made it meanwhile
  EXPECT_EQ(cache.get(2), 3);
  EXPECT_EQ(cache.get(2, false), 3);
  EXPECT_EQ(cache.stats().misses, 1u);
  EXPECT_EQ(cache.stats().hits, 2u);
}

TEST(LruCache, NoLookupHasNoHitRate) { EXPECT_EQ((LruCache<int, int>(1).stats().hit_rate()), 0); }

TEST(LruCache, WeightIsACapacityToo) {
  LruCache<int, int> cache(10, 100);
  cache.put(1, 1, 60);
  cache.put(2, 2, 40);
  EXPECT_EQ(cache.stats().weight, 100u);
  cache.put(3, 3, 50);  // 1 goes: 40 and 50 are left
  EXPECT_FALSE(cache.get(1));
  EXPECT_TRUE(cache.get(2));
  EXPECT_TRUE(cache.get(3));
  EXPECT_EQ(cache.stats().weight, 90u);
}

TEST(LruCache, WhatIsHeavierThanAllIsNotKeptAndPushesNothingOut) {
  LruCache<int, int> cache(10, 100);
  cache.put(1, 1, 60);
  cache.put(2, 2, 101);
  EXPECT_TRUE(cache.get(1));
  EXPECT_FALSE(cache.get(2));
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().weight, 60u);
}

TEST(LruCache, AKeyHasOneValue) {
  LruCache<int, std::string> cache(10, 100);
  cache.put(1, "one", 30);
  cache.put(1, "other", 20);
  EXPECT_EQ(cache.get(1), "other");
  EXPECT_EQ(cache.stats().weight, 20u);
  EXPECT_EQ(cache.stats().count, 1u);
  EXPECT_EQ(cache.stats().evictions, 0u);
  EXPECT_TRUE(cache.erase(1));
  EXPECT_FALSE(cache.erase(1));
  EXPECT_EQ(cache.stats().weight, 0u);
}

TEST(LruCache, ASmallerCapacityEvicts) {
  LruCache<int, int> cache(4);
  for (int i = 0; i < 4; ++i) cache.put(i, i, 10);
  cache.set_capacity(2);
  EXPECT_EQ(cache.stats().count, 2u);
  EXPECT_TRUE(cache.get(3));
  cache.set_capacity(2, 10);
  EXPECT_EQ(cache.stats().count, 1u);
  EXPECT_TRUE(cache.get(3));
  cache.clear();
  EXPECT_EQ(cache.stats().count, 0u);
  EXPECT_FALSE(cache.get(3));
  cache.set_capacity(0);
  cache.put(1, 1);
  EXPECT_FALSE(cache.get(1));
}

TEST(LruCache, WhatIsEvictedLivesAsLongAsItIsUsed) {
  LruCache<int, std::shared_ptr<int>> cache(1);
  cache.put(1, std::make_shared<int>(7));
  const std::shared_ptr<int> held = *cache.get(1);
  cache.put(2, std::make_shared<int>(8));
  EXPECT_FALSE(cache.get(1));
  EXPECT_EQ(*held, 7);
}

TEST(LruCache, ThreadsShareOne) {
  LruCache<int, int> cache(50, 400);
  constexpr int kThreads = 4, kLookups = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < kLookups; ++i) {
        const int key = (i * (t + 3)) % 97;
        if (const auto value = cache.get(key)) {
          EXPECT_EQ(*value, key * 2);
        } else {
          cache.put(key, key * 2, 10);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.hits + stats.misses, static_cast<uint64_t>(kThreads) * kLookups);
  EXPECT_LE(stats.count, 40u);
  EXPECT_LE(stats.weight, 400u);
}

}  // namespace
}  // namespace qc
