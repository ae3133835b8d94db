// The memory plan against independent checkers: a bound computed another way, and the best of all
// orders on small random programs.
#include "program/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "program/arena_packing.h"
#include "program/device.h"
#include "program/liveness.h"
#include "program/share.h"

namespace qc {
namespace {

constexpr int64_t kAlign = 64;

/// A kernel that the planner knows nothing of.
const Signature& some_kernel() {
  static const Signature signature{.name = "step"};
  return signature;
}

View view(int buffer, int64_t offset = 0) {
  View v;
  v.buffer = buffer;
  v.offset = offset;
  return v;
}

Step step(std::vector<View> in, std::vector<View> out) {
  Call call;
  call.kernel = &some_kernel();
  call.in = std::move(in);
  call.out = std::move(out);
  return {{}, std::move(call)};
}

int64_t rounded(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

/// A program of `steps` calls, each with one result and one to three operands among earlier ones.
Program random_program(std::mt19937& random, int steps) {
  Program p;
  p.pool = std::make_shared<ConstantPool>();
  p.buffers.push_back({.name = "x", .kind = BufferKind::input, .bytes = 256, .slot = 0});
  p.inputs.push_back({"x", Type(DType::f32, {64}), 0});
  for (int t = 0; t < steps; ++t) {
    Buffer b;
    b.bytes = 4 * static_cast<int64_t>(1 + random() % 400);
    if (t == steps - 1) {
      b.kind = BufferKind::output;
      b.slot = 0;
    }
    p.buffers.push_back(b);
    std::vector<View> in;
    const int operands = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < operands; ++i) in.push_back(view(static_cast<int>(random() % (t + 1))));
    p.steps.push_back(step(in, {view(t + 1)}));
  }
  // Nothing is computed in vain: the last step reads what nobody else does.
  std::vector<bool> read(p.buffers.size(), false);
  for (const Step& s : p.steps) {
    for (const View& v : s.call()->in) read[static_cast<size_t>(v.buffer)] = true;
  }
  for (int b = 1; b < steps; ++b) {
    if (!read[static_cast<size_t>(b)]) p.steps.back().call()->in.push_back(view(b));
  }
  p.outputs.push_back({"y", Type(DType::f32, {1}), steps});
  return p;
}

/// Peak of live bytes for steps run in `order`: walks the steps and counts, sharing no code with
/// the planner.
int64_t peak_of(const Program& p, const std::vector<int>& order) {
  int64_t peak = 0;
  for (size_t now = 0; now < order.size(); ++now) {
    int64_t live = 0;
    for (size_t b = 0; b < p.buffers.size(); ++b) {
      if (p.buffers[b].kind != BufferKind::arena) continue;
      bool begun = false, needed = false;
      for (size_t t = 0; t < order.size(); ++t) {
        const Step& s = p.steps[static_cast<size_t>(order[t])];
        bool touches = s.call()->out[0].buffer == static_cast<int>(b);
        for (const View& v : s.call()->in) touches = touches || v.buffer == static_cast<int>(b);
        begun = begun || (touches && t <= now);
        needed = needed || (touches && t >= now);
      }
      if (begun && needed) live += rounded(p.buffers[b].size());
    }
    peak = std::max(peak, live);
  }
  return peak;
}

/// The least peak over every valid order.
int64_t best_peak(const Program& p) {
  const int n = static_cast<int>(p.steps.size());
  std::vector<int> order;
  std::vector<bool> done(p.buffers.size(), false), used(static_cast<size_t>(n), false);
  done[0] = true;
  int64_t best = INT64_MAX;
  // Live bytes are tracked along the search, so that a branch is left once it is no better.
  std::vector<int> readers(p.buffers.size(), 0);
  for (const Step& s : p.steps) {
    for (const View& v : s.call()->in) ++readers[static_cast<size_t>(v.buffer)];
  }
  std::function<void(int64_t, int64_t)> search = [&](int64_t live, int64_t peak) {
    if (peak >= best) return;
    if (static_cast<int>(order.size()) == n) {
      best = peak;
      return;
    }
    for (int t = 0; t < n; ++t) {
      if (used[static_cast<size_t>(t)]) continue;
      const Step& s = p.steps[static_cast<size_t>(t)];
      bool ready = true;
      for (const View& v : s.call()->in) ready = ready && done[static_cast<size_t>(v.buffer)];
      if (!ready) continue;
      const size_t out = static_cast<size_t>(s.call()->out[0].buffer);
      const int64_t made =
          p.buffers[out].kind == BufferKind::arena ? rounded(p.buffers[out].size()) : 0;
      const int64_t during = live + made;
      int64_t after = during;
      for (const View& v : s.call()->in) {
        const size_t b = static_cast<size_t>(v.buffer);
        if (--readers[b] == 0 && p.buffers[b].kind == BufferKind::arena)
          after -= rounded(p.buffers[b].size());
      }
      used[static_cast<size_t>(t)] = done[out] = true;
      order.push_back(t);
      search(after, std::max(peak, during));
      order.pop_back();
      used[static_cast<size_t>(t)] = done[out] = false;
      for (const View& v : s.call()->in) ++readers[static_cast<size_t>(v.buffer)];
    }
  };
  search(0, 0);
  return best;
}

TEST(Plan, EqualsTheExhaustiveOptimumOnSmallPrograms) {
  std::mt19937 random(20240607);
  for (int i = 0; i < 200; ++i) {
    Program p = random_program(random, 3 + static_cast<int>(random() % 10));
    const int64_t optimum = best_peak(p);
    plan(p);
    EXPECT_EQ(p.arena_bytes, optimum) << "program " << i << "\n" << str(p);
  }
}

TEST(Plan, IsNeverAboveTheModelsOwnOrder) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const Program p = random_program(random, 10 + static_cast<int>(random() % 60));
    Program own = p, chosen = p;
    plan(own, {.reorder = false});
    plan(chosen);
    EXPECT_LE(chosen.arena_bytes, own.arena_bytes);
    std::vector<int> order(p.steps.size());
    for (size_t t = 0; t < order.size(); ++t) order[t] = static_cast<int>(t);
    EXPECT_LE(own.arena_bytes * 100, peak_of(p, order) * 105);
  }
}

TEST(Plan, CopiesAtTheEndsOfAProgramStayThere) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    Program p = random_program(random, 4 + round);
    // An input that nothing reads before the last step would rather be copied late.
    const int late = static_cast<int>(p.buffers.size());
    p.buffers.push_back({.name = "late", .kind = BufferKind::input, .bytes = 4096, .slot = 1});
    p.inputs.push_back({"late", Type(DType::f32, {1024}), late});
    p.steps.back().call()->in.push_back(view(late));
    move_to_device(p);
    plan(p);
    for (size_t i = 0; i < p.steps.size(); ++i) {
      const bool at_end = i < p.inputs.size() || i + p.outputs.size() >= p.steps.size();
      EXPECT_EQ(p.steps[i].copy() != nullptr, at_end) << i;
    }
  }
}

TEST(Plan, LowerBoundAgreesWithACountByHand) {
  std::mt19937 random(11);
  for (int i = 0; i < 40; ++i) {
    const Program p = random_program(random, 4 + static_cast<int>(random() % 30));
    std::vector<int> order(p.steps.size());
    for (size_t t = 0; t < order.size(); ++t) order[t] = static_cast<int>(t);
    EXPECT_EQ(arena_lower_bound(p), peak_of(p, order));
  }
}

/// chain: x -> a -> b -> y, each step allowed to overwrite its operand.
Program chain() {
  Program p;
  p.pool = std::make_shared<ConstantPool>();
  p.buffers = {{.name = "x", .kind = BufferKind::input, .bytes = 128, .slot = 0},
               {.name = "a", .bytes = 128},
               {.name = "b", .bytes = 128},
               {.name = "y", .kind = BufferKind::output, .bytes = 128, .slot = 0}};
  for (int t = 0; t < 3; ++t) {
    p.steps.push_back(step({view(t)}, {view(t + 1)}));
    p.steps.back().call()->in_place = {{0, 0}};
  }
  return p;
}

TEST(Share, ResultsOverwriteOperandsThatDieButNeverInputs) {
  Program p = chain();
  share_in_place(p);
  EXPECT_EQ(p.resolve(view(0)).buffer, 0);  // the caller's input stays as it is
  EXPECT_EQ(p.resolve(view(1)).buffer, 3);
  EXPECT_EQ(p.resolve(view(2)).buffer, 3);
}

TEST(Share, SizesThatAreFreeShareWhereAllOfThemFit) {
  Program p = chain();
  p.dims = {{"s", 1, 8, 1}};
  const Dim s = Dim::symbol("s");
  p.buffers[1].bytes = s * Dim(64);
  p.buffers[2].bytes = s * Dim(64);
  share_in_place(p);
  EXPECT_EQ(p.resolve(view(1)).buffer, 2);
  EXPECT_EQ(p.resolve(view(2)).buffer, 2);  // not the output: it has another size
}

TEST(Plan, FreeSizesHavePlacesForTheLargest) {
  std::mt19937 random(7);
  Program free = random_program(random, 10), largest = free;
  free.dims = {{"s", 1, 100, 1}};
  for (size_t i = 0; i < free.buffers.size(); ++i) {
    if (free.buffers[i].kind != BufferKind::arena) continue;
    const Dim factor = 4 * static_cast<int64_t>(1 + random() % 4);
    free.buffers[i].bytes = factor * Dim::symbol("s");
    largest.buffers[i].bytes = factor * Dim(100);
  }
  plan(free);
  plan(largest);
  EXPECT_EQ(free.arena_bytes, largest.arena_bytes);
  EXPECT_EQ(arena_lower_bound(free), arena_lower_bound(largest));
  for (size_t i = 0; i < free.buffers.size(); ++i)
    EXPECT_EQ(free.buffers[i].offset, largest.buffers[i].offset);
}

TEST(Share, AnOperandWithALaterReaderIsKept) {
  Program p = chain();
  p.steps[2].call()->in.push_back(view(1));  // the last step reads `a` too
  share_in_place(p);
  EXPECT_NE(p.resolve(view(1)).buffer, p.resolve(view(2)).buffer);
}

TEST(Share, CopiesIntoPartsOfABufferVanish) {
  Program p;
  p.pool = std::make_shared<ConstantPool>();
  p.buffers = {{.name = "x", .kind = BufferKind::input, .bytes = 64, .slot = 0},
               {.name = "a", .bytes = 64},
               {.name = "b", .bytes = 64},
               {.name = "y", .kind = BufferKind::output, .bytes = 128, .slot = 0}};
  const Signature& copy = *find_kernel("copy");
  const auto copied = [&](View in, View out) {
    Step s = step({in}, {out});
    s.call()->kernel = &copy;
    s.call()->params = {Dim(64)};
    return s;
  };
  p.steps = {step({view(0)}, {view(1)}), step({view(0)}, {view(2)}), copied(view(1), view(3)),
             copied(view(2), view(3, 64))};
  elide_copies(p);
  EXPECT_EQ(p.steps.size(), 2u);
  EXPECT_EQ(p.resolve(view(1)), (BufferOffset{3, 0}));
  EXPECT_EQ(p.resolve(view(2)), (BufferOffset{3, 64}));
}

TEST(Place, IntervalsAliveTogetherNeverOverlap) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    std::vector<Interval> all;
    for (int k = 0; k < 40; ++k) {
      const int first = static_cast<int>(random() % 50);
      all.push_back({first, first + static_cast<int>(random() % 10),
                     64 * (1 + static_cast<int64_t>(random() % 30))});
    }
    const int64_t size = pack_intervals(all, kAlign, 0);
    for (size_t a = 0; a < all.size(); ++a) {
      EXPECT_LE(all[a].offset + all[a].bytes, size);
      for (size_t b = 0; b < a; ++b) {
        if (all[a].last < all[b].first || all[b].last < all[a].first) continue;
        EXPECT_TRUE(all[a].offset + all[a].bytes <= all[b].offset ||
                    all[b].offset + all[b].bytes <= all[a].offset);
      }
    }
  }
}

TEST(Liveness, WhatALoopCarriesLivesThroughIt) {
  Program p;
  p.pool = std::make_shared<ConstantPool>();
  p.buffers = {{.name = "carried", .bytes = 64},
               {.name = "inner", .bytes = 64},
               {.name = "condition", .bytes = 1}};
  LoopStep loop;
  loop.condition = view(2);
  loop.body = {step({view(0)}, {view(1)}), step({view(1)}, {view(0)})};
  p.steps = {step({}, {view(0)}), {{}, loop}};
  const Liveness l = liveness(p);
  EXPECT_EQ(l.ranges[0].first, 0);
  EXPECT_EQ(l.ranges[0].last, l.steps - 1);
  EXPECT_LT(l.ranges[1].last, l.steps - 1);
}

}  // namespace
}  // namespace qc
