// The printer of steps.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "backends/c/formula.h"
#include "backends/c/weights.h"

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
  using Select = std::function<const View&(const Step&)>;
  static std::string parenthesised(const std::string& sum) {
    return sum.find(' ') == std::string::npos ? sum : "(" + sum + ")";
  }

  void steps(const Steps& list, int depth);
  void loop(size_t at, int depth, const std::string& pad);
  /// A view of step `at` as a pointer.
  std::string pointer(size_t at, const Select& select, bool writable);
  std::string call(size_t at);
  /// Number i of the parameters of step `at`, one of this member.
  std::string number(size_t at, const Field& field, size_t i);
  /// The initialiser of the parameters of step `at`, those left out that are 0.
  std::string initialiser(size_t at);
  /// A name for the function of a step, after the layers it computes.
  std::string function_name(const Step& step);
  void define(const std::string& function, const Call& call, const std::string& values,
              bool varies);
  /// A parameter struct in read-only memory, shared by calls with the same values.
  std::string parameters(const Call& call, const std::string& values);

  const COptions& options_;
  const WeightMap& weights_;
  Formulas& formulas_;
  std::span<const Program> programs_;
  std::span<const int64_t> sizes_;
  std::vector<std::vector<const Step*>> steps_;  // of each program, in the order they are written
  size_t at_ = 0;
  std::map<std::string, std::string> functions_, structs_;
  std::set<std::string> names_;  // of functions
};

}  // namespace qc
