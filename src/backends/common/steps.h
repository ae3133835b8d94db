// Prints the steps of a Program in the languages that have C's expressions and calls: one function
// per distinct kernel instance, one call per step. Numbers that depend on free dimensions are
// entries of the table `n`. What a call, a copy and such a function look like is the
// backend's.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/common/rare_calls.h"
#include "backends/common/size_table.h"
#include "backends/common/weights.h"

namespace qc {

class StepPrinter {
 public:
  /// The layers of a step as messages of generated code name them.
  static std::string layers(const Step& step);

  StepPrinter(const ProjectOptions& options, const WeightMap& weights, const Program& program)
      : sizes(program),
        options_(options),
        program_(program),
        weights_(weights),
        rare_(rare_calls(program, options.specialise == Specialise::size)) {}
  virtual ~StepPrinter() = default;

  /// Prints the steps of the program.
  void print() {
    compare_calls();
    steps(program_.steps, 1);
  }

  std::string instances;  // functions and parameters
  std::string body;       // the calls
  SizeTable sizes;        // what both need

 protected:
  /// A function that computes calls of one kernel.
  struct Instance {
    std::string function;
    const Call& call;
    std::string values;  // of the parameters, an initialiser
    bool local;          // it holds the parameters itself
    bool varies;         // `values` reads the table `n`
    bool rare;           // its time is of no account
    std::string given;   // unless local: the type of what it is handed, numbers that `values` reads
  };
  /// Whether functions can read the table `n`; else they are handed the numbers that are free.
  virtual bool reads_sizes() const { return true; }
  /// Whether calls that differ in some numbers may share a function, which is handed these.
  virtual bool may_share(const Call&) const { return true; }
  /// A struct of that type and these values, as an expression.
  virtual std::string literal(const std::string& type, const std::string& values) const;
  virtual std::string definition(const Instance& instance) const = 0;
  /// A statement that calls it with pointers `args` and, unless it holds them, the struct `params`.
  virtual std::string invocation(const Step& step, const Instance& instance,
                                 const std::string& params, const std::string& args) const = 0;
  /// A function that computes some units of such calls: what a caller's parallel_for runs.
  virtual std::string subrange_definition(const Instance& instance);
  /// Statements that give the units of a call to the caller's parallel_for.
  virtual std::string parallel(const Step& step, const Instance& instance,
                               const std::string& params, const std::string& in,
                               const std::string& out, const std::string& units,
                               const std::string& pad) const;
  /// A statement that copies `bytes` between the host's memory and the device's; empty where it
  /// stands elsewhere.
  virtual std::string copy(const Step& step, const std::string& from, const std::string& to,
                           const std::string& bytes, bool to_device) = 0;
  /// What pointers into a buffer's memory begin at, and where in it a constant lies.
  virtual std::string memory(const Buffer& buffer) const;
  virtual int64_t constant_offset(const Buffer& buffer) const;
  /// An expression for the units of a call of free sizes.
  virtual std::string counted_units(const Call& call);

  const ProjectOptions& options_;
  const Program& program_;
  const WeightMap& weights_;

 private:
  void steps(const Steps& list, int depth);
  std::string condition(const BranchStep& branch);
  void loop(const LoopStep& step, int depth, const std::string& pad);
  /// A view as a pointer.
  std::string pointer(const View& view, bool writable);
  std::string call(const Step& step);
  std::string copy(const Step& step);
  /// A call whose units the caller's threads take.
  std::string parallel(const Step& step, const std::string& pad);
  /// What computes a step, or parts of it; defined where no step had the same before.
  Instance instance(const Step& step, bool is_split);
  std::string number(const Field& field, const Param& param);
  /// What one function computes: a body, operands that are present, in parts or at once.
  static std::string key_of(const Call& call, bool is_split);
  /// Finds the numbers in which the calls that share a function differ, for --specialise size.
  void compare_calls();
  /// Marks the numbers that the function of a call is handed.
  std::vector<bool> given_numbers(const Call& call, bool is_split) const;
  /// The initialiser of the parameters of a call, those left out that are 0; numbers that `differs`
  /// marks are read from `given`.
  std::string initialiser(const Call& call, const std::vector<bool>& differs);
  /// The struct of the numbers that are marked.
  static std::string given_type(const Call& call, const std::string& name,
                                const std::vector<bool>& differs);
  /// A name for the function of a step, after the layers it computes.
  std::string function_name(const Step& step);
  /// A struct in read-only memory, shared by calls with the same values.
  std::string parameters(const std::string& type, const std::string& values);
  /// The struct that a step hands to its function; empty where that holds all.
  std::string handed(const Instance& made, bool is_split);

  const std::set<const Call*> rare_;
  std::map<std::string, std::string> functions_, structs_, given_types_;
  std::map<std::string, std::vector<bool>> differs_;  // by key_of, for each number
  std::set<std::string> names_;                       // of functions and types
};

}  // namespace qc
