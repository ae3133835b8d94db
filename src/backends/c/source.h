// The printer of steps.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "backends/c/formula.h"
#include "backends/c/weights.h"
#include "kernels/kernels.h"

namespace qc {

class Source {
 public:
  Source(const COptions& options, const WeightMap& weights, Formulas& formulas)
      : options_(options), weights_(weights), formulas_(formulas) {}

  /// Prints the steps of programs of one structure, one for each size, into `body`.
  void form(std::span<const Program> programs, std::span<const int64_t> sizes);

  std::string instances;  // functions and parameters of all forms
  std::string body;       // the calls of the last one

 private:
  using Select = std::function<View(const Step&)>;
  static View condition(const Step& s) { return s.condition; }
  static View limit(const Step& s) { return s.limit; }
  static View counter(const Step& s) { return s.counter; }
  static std::string parenthesised(const std::string& sum) {
    return sum.find(' ') == std::string::npos ? sum : "(" + sum + ")";
  }

  void steps(const Steps& list, int depth);
  void loop(size_t at, int depth, const std::string& pad);
  /// A view of step `at` as a pointer.
  std::string pointer(size_t at, const Select& select, bool writable);
  std::string call(size_t at);
  /// Word i of the parameters of step `at`.
  std::string word(size_t at, size_t i, bool is_float);
  void define(const std::string& function, const qk_entry& kernel, const Step& step,
              const std::string& values, bool varies);
  /// A parameter struct in read-only memory, shared by calls with the same values.
  std::string parameters(const qk_entry& kernel, const Step& step);

  const COptions& options_;
  const WeightMap& weights_;
  Formulas& formulas_;
  std::span<const Program> programs_;
  std::span<const int64_t> sizes_;
  std::vector<std::vector<const Step*>> steps_;  // of each program, in the order they are written
  size_t at_ = 0;
  std::map<std::string, std::string> functions_, structs_;
};

}  // namespace qc
