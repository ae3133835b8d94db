// Turns what was watched into rules, node by node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "arrays/npz.h"
#include "driver/equalise.h"
#include "driver/rule_targets.h"
#include "driver/watch.h"
#include "quant/rules.h"

namespace qc {

/// Operands, by their nodes and places, that are constants because sizes are numbers: in `open`,
/// the graph whose sizes are not, they are computed. Their rules state scales for them, so that
/// one file serves the model at every size, and with sizes that each run chooses.
using SizeTables = std::set<std::pair<std::string, size_t>>;
SizeTables size_tables(const Graph& open);

class RuleWriter {
 public:
  RuleWriter(Graph& graph, const RuleTargets& targets, const Watched& watched,
             const Changes& changes, const CalibrateOptions& options, SizeTables tables);

  /// Finds the rules; the samples gave `runs` runs.
  Result<Ok> run(int64_t runs);

  /// Nodes that have a quantized form, but lie where values are not watched.
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  /// What the user should know about the values.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Why there is no rule at all; empty where there is one.
  std::string why_none() const;
  /// Rules as sections of the file; long lists go to `arrays`.
  std::string text(const std::string& archive, std::vector<NamedArray>& arrays) const;

 private:
  struct Entry {
    std::string name, op;
    std::optional<RuleSpec> spec;
    std::string_view why_not = "no quantized form";
  };
  struct ValueFormat {
    DType dtype = DType::i8;
    ScaleOffset format;
    bool operator==(const ValueFormat&) const = default;
  };

  void pass_over(Graph& body);
  Result<Ok> visit(Node& n);
  void warn_of_nans(const Node& n);
  bool shares_name(const RuleTargets::Group& group) const;
  bool passes_on(const Node& n, const std::vector<size_t>& operands);

  RangeMethod method_for(const Observer& observer) const;
  void warn_of_few_elements(int64_t runs);
  ValueFormat format(const Observer& observer, std::optional<double> floor, DType dtype) const;
  DType result_type(Node& n) const;
  DType own_result_type(Node& n) const;
  bool needs_width(Node& n) const;
  bool is_shortcut(const Value& value) const;
  DType operand_type(Node& n, const std::vector<size_t>& operands) const;
  Result<ValueFormat> operand_format(Node& n, size_t i, DType dtype) const;
  ValueFormat result_format(Node& n) const;
  Result<bool> only_masks(Node& n, size_t i) const;

  Result<Ok> state_inputs(Node& n, const std::vector<size_t>& operands, const ValueFormat& result,
                          RuleSpec& spec) const;
  Result<Ok> change(Node& n, RuleSpec& spec) const;

  Graph& graph_;
  const RuleTargets& targets_;
  const Watched& watched_;
  const Changes& changes_;
  const CalibrateOptions& options_;
  const SizeTables tables_;
  const DType narrow_;
  std::map<std::string, std::string> op_named_;  // the op of all nodes of a name; empty for several
  std::map<const Value*, ValueFormat> formats_;  // of values that rules give codes
  std::vector<Entry> entries_;
  std::vector<std::string> passed_over_, warnings_;
  /// Ranges that were found, those of them from too few elements for the method, and the fewest.
  mutable int64_t ranges_ = 0, of_few_ = 0, fewest_ = Observer::kEntropyElements;
};

}  // namespace qc
