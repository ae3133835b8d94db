// Prints the steps of a Program in the languages that have C's expressions and calls: one function
// per distinct kernel instance, one call per step. Numbers that depend on the size of a free
// dimension are expressions in `n`. What a call, a copy and such a function look like is the
// backend's.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "backends/common/formula.h"
#include "backends/common/weights.h"

namespace qc {

class StepPrinter {
 public:
  StepPrinter(const ProjectOptions& options, const WeightMap& weights, Formulas& formulas)
      : options_(options), weights_(weights), formulas_(formulas) {}
  virtual ~StepPrinter() = default;

  /// Prints the steps of programs of one structure, one for each size, into `body`.
  void form(std::span<const Program> programs, std::span<const int64_t> sizes);

  std::string instances;  // functions and parameters of all forms
  std::string body;       // the calls of the last one

 protected:
  /// A function that computes calls of one kernel.
  struct Instance {
    std::string function;
    const Call& call;
    std::string values;  // of the parameters, an initialiser
    bool local;          // it holds the parameters itself
    bool varies;         // they depend on `n`
  };
  virtual std::string definition(const Instance& instance) const = 0;
  /// A statement that calls it with pointers `args` and, unless it holds them, the struct `params`.
  virtual std::string invocation(const Step& step, const Instance& instance,
                                 const std::string& params, const std::string& args) const = 0;
  /// A function that computes some units of such calls: what a caller's parallel_for runs.
  virtual std::string part_definition(const Instance& instance);
  /// Statements that give the units of a call to the caller's parallel_for.
  virtual std::string parallel(const Instance& instance, const std::string& params,
                               const std::string& in, const std::string& out,
                               const std::string& units, const std::string& pad) const;
  /// A statement that copies `bytes` between the host's memory and the device's.
  virtual std::string copy(const Step& step, const std::string& from, const std::string& to,
                           int64_t bytes, bool to_device) const = 0;
  /// The layers of a step, joined.
  static std::string layers(const Step& step);

  const ProjectOptions& options_;

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
  std::string copy(size_t at);
  /// A call whose units the caller's threads take.
  std::string parallel(size_t at, const std::string& pad);
  /// What computes step `at`, or parts of it; defined where no step had the same before.
  Instance instance(size_t at, bool in_parts);
  /// Number i of the parameters of step `at`, one of this member.
  std::string number(size_t at, const Field& field, size_t i);
  /// The initialiser of the parameters of step `at`, those left out that are 0.
  std::string initialiser(size_t at);
  /// A name for the function of a step, after the layers it computes.
  std::string function_name(const Step& step);
  /// A parameter struct in read-only memory, shared by calls with the same values.
  std::string parameters(const Call& call, const std::string& values);

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
