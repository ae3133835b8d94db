// Many generated C projects compiled together, so that a test can build thousands of them: all go
// into a few translation units that share one copy of the kernels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "program/program.h"
#include "support/result.h"
#include "target/target.h"

namespace qc {

/// Writes the planned program's C below `dir`, for `build_c`. Names are C identifiers; calls from
/// several processes are fine. All programs of a folder have one target.
Result<Ok> emit_c(const std::string& dir, const std::string& name, const Program& program,
                  const Target& target = all_targets()[0]);

/// How programs are compiled.
struct CBuild {
  std::string compiler;       // empty: $CC, else cc
  std::string flags = "-O0";  // of all but large programs
  /// Changes to the text of the kernels, for tests of the tests.
  std::vector<std::pair<std::string, std::string>> edits;
  Target target = all_targets()[0];
};

/// Compiles everything that was emitted below `dir`, `jobs` compilers at a time. Programs of more
/// than 20 million multiply-accumulates are built alone and optimised. Returns the names that do
/// not compile, with what the compiler said.
Result<std::map<std::string, std::string>> build_c(const std::string& dir, int jobs,
                                                   const CBuild& how = {});

/// The compiled programs of a folder.
class CBatch {
 public:
  static Result<CBatch> open(const std::string& dir);
  bool has(const std::string& name) const;
  /// Sets a global int of every unit.
  Result<Ok> set(const std::string& symbol, int value) const;
  /// One run from the initial state. Outputs are filled in place and need the right sizes; `dims`
  /// are the sizes of the program's free dimensions.
  Result<Ok> run(const std::string& name, const std::vector<Tensor>& inputs,
                 std::vector<Tensor>& outputs, const std::vector<int64_t>& dims = {}) const;

 private:
  struct Library;
  std::string dir_;
  std::map<std::string, std::shared_ptr<Library>> libraries_;  // by program
};

}  // namespace qc
