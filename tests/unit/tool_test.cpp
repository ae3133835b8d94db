// Programs that quantc starts: where they are looked for, and what they may use.
#include "driver/tool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/budget.h"
#include "support/interrupt.h"
#include "support/scratch.h"

namespace qc {
namespace {

namespace fs = std::filesystem;

Result<Ok> shell(const std::string& script, const ToolLimits& limits = {},
                 const std::string& folder = "") {
  return run_tool({{"sh", "-c", script}, limits, folder});
}

std::string message(const Result<Ok>& done) { return done.ok() ? "done" : render(done.diag()); }

/// A variable of the environment for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* now = std::getenv(name);
    had_ = now != nullptr;
    before_ = now ? now : "";
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

TEST(Tool, IsNotLookedForInTheCurrentFolder) {
  const auto folder = ScratchFolder::create();
  ASSERT_TRUE(folder.ok());
  const std::string program = folder->path() + "/sh";
  std::ofstream(program) << "#!/bin/sh\nexit 3\n";
  ::chmod(program.c_str(), 0755);
  const fs::path before = fs::current_path();
  fs::current_path(folder->path());
  const std::string path = std::getenv("PATH");
  for (const std::string& hostile : {".:" + path, ":" + path, "./:" + path, "../" + path}) {
    const Variable changed("PATH", hostile);
    EXPECT_TRUE(find_tool("sh").starts_with('/')) << find_tool("sh");
    EXPECT_EQ(message(shell("exit 0")), "done");
    EXPECT_EQ(message(shell("sh -c 'exit 0'")), "done") << "what a program starts";
  }
  EXPECT_TRUE(fs::equivalent(find_tool("./sh"), program));  // who names it means it
  fs::current_path(before);
}

TEST(Tool, SearchPathsOfItsEnvironmentLeadToNoRelativeFolder) {
  const Variable paths[] = {
      {"LIBRARY_PATH", "::.:/usr/lib:x:"}, {"CPATH", ":"}, {"PYTHONPATH", "."}};
  EXPECT_EQ(message(shell("test \"$LIBRARY_PATH\" = /usr/lib")), "done");
  EXPECT_EQ(message(shell("test -z \"${CPATH+set}${PYTHONPATH+set}\"")), "done");
}

TEST(Tool, RunsWhereItIsTold) {
  const auto folder = ScratchFolder::create();
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(message(shell("test \"$PWD\" = '" + folder->path() + "'", {}, folder->path())), "done");
}

TEST(Tool, HasLimitsThatGrowWithTheBudget) {
  const auto limits = [](Budget& budget, const std::string& wanted) {
    const Budget::Scope scope(&budget);
    return message(shell("test \"$(ulimit -t) $(ulimit -d)\" = '" + wanted + "'", {7, 300}));
  };
  Budget budget;
  EXPECT_EQ(limits(budget, "7 307200"), "done");
  budget.set_factor(3);
  EXPECT_EQ(limits(budget, "21 921600"), "done");
  EXPECT_EQ(message(shell("test \"$(ulimit -t)\" != 7", {7, 300})), "done") << "without a budget";
}

TEST(Tool, IsEndedBeyondItsLimits) {
  Budget budget;
  const Budget::Scope scope(&budget);
  const std::string busy = message(shell("while :; do :; done", {1}));
  EXPECT_EQ(busy.find("error[limit]: 'sh' needs more than the 1 seconds of the processor"), 0u)
      << busy;
  const std::string child = message(shell("sh -c 'while :; do :; done'; exit 4", {1}));
  EXPECT_EQ(child.find("error[limit]: 'sh' needs more than the 1 seconds"), 0u) << child;
  const std::string asleep = message(shell("sleep 600 & sleep 600", {1, 0, 1}));
  EXPECT_EQ(asleep.find("error[limit]: 'sh' needs more than the time"), 0u) << asleep;
  EXPECT_NE(asleep.find("--budget 10"), std::string::npos);
  const std::string full =
      message(shell("echo cc1: out of memory allocating 9 bytes; exit 1", {9, 5}));
  EXPECT_EQ(full.find("error[limit]: 'sh' needs more than the 5 MB"), 0u) << full;
  const std::string other = message(shell("echo no; exit 1", {9, 5}));
  EXPECT_EQ(other, "error[tool]: 'sh' failed\n  note: no\n    ");
}

TEST(Tool, KeepsTheEndOfWhatWasPrinted) {
  const auto done = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo end; exit 1");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.diag().notes.at(0).size(), 3000u);
  EXPECT_TRUE(done.diag().notes.at(0).ends_with("xend\n"));
}

TEST(Tool, IsEndedWhenTheCallerWants) {
  interrupt_check = [] { return true; };
  const auto done = shell("sleep 600");
  interrupt_check = nullptr;
  EXPECT_EQ(message(done).find("error[limit]: interrupted"), 0u) << message(done);
}

}  // namespace
}  // namespace qc
