// Memory or budget may run out at any allocation: graphs then stay valid, shared constants and
// caches stay consistent, and the same work done again gives the same answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <regex>

#include "driver/compile.h"
#include "driver/load.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/budget.h"

namespace {

/// How the next piece of work is ended: by the allocation of this number, or by the first count of
/// the budget after it.
enum class End { allocation, count };
End end_by = End::allocation;
int64_t left = -1;        // allocations until then; below 0 for none
int64_t allocations = 0;  // so far

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (left >= 0 && left-- == 0) {
    qc::time_is_up = true;
    if (end_by == End::allocation) qc::hold(qc::Cost::memory, 0);
  }
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

// Inlined, the compiler would see free() of what comes from new.
#define QC_APART [[gnu::noinline]]
QC_APART void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
QC_APART void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, std::max(static_cast<std::size_t>(alignment), alignof(std::max_align_t)));
}
QC_APART void operator delete(void* p) noexcept { std::free(p); }
QC_APART void operator delete(void* p, std::size_t) noexcept { std::free(p); }
QC_APART void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
QC_APART void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace qc {
namespace {

struct Case {
  std::string file;
  void (*set)(Options&);
};

void dynamic_rules(Options& options) {
  quantc::RuleSpec rule;
  rule.op = "linear";
  rule.kind = "dynamic";
  rule.per_token = true;
  options.rules = {rule};
  options.allow_unused_rules = true;
}

const Case kCases[] = {
    {"digits.onnx", [](Options&) {}},
    {"digits.pt2", dynamic_rules},
    {"gru.onnx", dynamic_rules},
    {"micro_kws_m_qdq.onnx",
     [](Options& options) {
       options.dims = {{"unk__68", 1}};
     }},
    {"timm_test_vit.onnx", dynamic_rules},
};

class Interrupted : public testing::TestWithParam<Case> {
 protected:
  /// Ends `work` on what `make` gives at many points, one at a time; `whole` looks at what is left.
  template <class Thing>
  void end_everywhere(const std::function<Thing()>& make,
                      const std::function<Result<Ok>(Thing&)>& work,
                      const std::function<void(Thing&)>& whole) {
    int64_t all = 0;
    for (int run = 0; run < 2; ++run) {  // the first makes tables that stay
      Thing thing = make();
      const int64_t before = allocations;
      const Result<Ok> done = ended(thing, work);
      ASSERT_TRUE(done.ok()) << render(done.diag());
      all = allocations - before;
    }
    const char* given = std::getenv("QUANTC_INTERRUPTS");
    const int64_t points = std::min<int64_t>(all, given ? std::atoll(given) : 40);
    int64_t refused = 0;
    for (const End how : {End::allocation, End::count}) {
      for (int64_t i = 0; i < points; ++i) {
        Thing thing = make();
        end_by = how;
        left = all * i / points;
        const Result<Ok> done = ended(thing, work);
        left = -1;
        time_is_up = false;
        if (!done.ok()) {
          ASSERT_EQ(done.diag().code, Code::limit) << render(done.diag());
          ++refused;
        }
        whole(thing);
      }
    }
    EXPECT_GE(refused, points);  // by allocations all; after the last count nothing is refused
    Thing again = make();
    ASSERT_TRUE(ended(again, work).ok());
  }

  template <class Thing>
  static Result<Ok> ended(Thing& thing, const std::function<Result<Ok>(Thing&)>& work) {
    Budget budget(1000);
    return within(&budget, [&] { return work(thing); });
  }

  static void expect_whole(std::unique_ptr<Graph>& graph) {
    const auto links = verify_links(*graph);
    EXPECT_TRUE(links.ok()) << render(links.diag());
  }

  Options options() const {
    Options out;
    out.target = "portable";
    GetParam().set(out);
    return out;
  }
  std::string path() const { return "tests/models/" + GetParam().file; }
};

using Held = std::unique_ptr<Graph>;

TEST_P(Interrupted, Loading) {
  end_everywhere<Held>([] { return Held(); },
                       [&](Held& graph) -> Result<Ok> {
                         QC_ASSIGN(graph, load_model(path(), options()));
                         return Ok{};
                       },
                       [](Held&) {});
}

TEST_P(Interrupted, Passes) {
  const Held loaded = *load_model(path(), options());
  std::string answer;
  end_everywhere<Held>([&] { return *copy(*loaded); },
                       [&](Held& graph) -> Result<Ok> {
                         QC_TRY(make_contract(*graph, options()));
                         const std::string text = print(*graph);
                         if (answer.empty()) answer = text;
                         QC_CHECK(text == answer, "an earlier end changed the answer");
                         return Ok{};
                       },
                       expect_whole);
}

TEST_P(Interrupted, Lowering) {
  const Held contract = *load_model(path(), options());
  ASSERT_TRUE(make_contract(*contract, options()).ok());
  std::string answer;
  end_everywhere<Held>([&] { return *copy(*contract); },
                       [&](Held& graph) -> Result<Ok> {
                         QC_ASSIGN(const Program program, make_program(*graph, options()));
                         // The pool, which is shared, numbers constants anew each time.
                         const std::string text =
                             std::regex_replace(str(program), std::regex(" #[0-9]+"), "");
                         if (answer.empty()) answer = text;
                         QC_CHECK(text == answer, "an earlier end changed the answer");
                         return Ok{};
                       },
                       expect_whole);
}

INSTANTIATE_TEST_SUITE_P(All, Interrupted, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.file;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace qc
