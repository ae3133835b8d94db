// Quantization rules as values: the keys of a rule file, and the base of rules of one's own.
// docs/rules.md explains every key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantc/diagnostic.h"

namespace quantc {

/// One rule. What is left empty has the default that docs/rules.md states.
struct RuleSpec {
  // Which nodes: regular expressions on the model's own names, anchored at their start, and the
  // op. A node is meant when one of its names matches `pattern` and none matches `exclude`.
  std::string pattern, exclude, op;

  std::string kind;  // static, dynamic, weight_only or float; empty: static
  // Codes of the result: int8, uint8, int16; float32 keeps the node as it is.
  std::string dtype;
  std::vector<double> scale;     // one number
  std::vector<int64_t> offset;   // one number
  std::vector<double> min, max;  // one number each, instead of scale and offset: what codes cover
  std::optional<int64_t> qmin, qmax;
  std::string output_dtype;  // float32: codes are read, the result is f32

  // Operands: one number for all that are not constants, or one for each.
  std::string input_dtype;
  std::vector<double> input_scale;
  std::vector<int64_t> input_offset;
  std::vector<double> input_min, input_max;  // instead of input_scale and input_offset

  // Constant weights.
  std::string weight_dtype;
  std::vector<double> weight_scale;
  std::vector<int64_t> weight_offset;
  std::optional<int64_t> weight_qmin, weight_qmax;
  std::optional<bool> per_channel;
  std::optional<int64_t> group;     // weights along the axis of summation that share a scale
  bool weight_zero_points = false;  // scales and offsets from the least and greatest weight

  // Changes of the weights before they become codes, one number per channel: those that make
  // results of a channel times `output_multiplier`, those that undo it in the next node (times
  // `input_multiplier`), and what is added to the bias.
  std::vector<double> output_multiplier, input_multiplier, bias_correction;

  // Dynamic activations.
  bool per_token = false, symmetric = false;

  // Attention that a static or dynamic rule is for: int8, products of codes, or float; empty: int8.
  std::string attention;

  std::string arithmetic;         // empty: that of the options
  bool skip_unsupported = false;  // ops without a quantized form stay float

  bool calibrated = false;  // found by calibration: earlier rules may take all that it is for
  std::string origin;       // "rules.toml:12", for messages
};

struct NodeViews;

/// What a rule may see of a node.
struct NodeView {
  std::vector<std::string> names;
  std::string op;
  std::map<std::string, std::string> attributes;  // as in the graph's text form
  /// One of each operand; sizes not known are -1, and an operand left out has an empty type.
  struct Operand {
    std::string type;  // "f32"
    std::vector<int64_t> shape;
    bool constant = false;
    std::string name;  // of a constant or an input, the model's own; may be empty
  };
  std::vector<Operand> operands;
  std::vector<Operand> results;

  /// The nodes that make its operands, in their order; constants are left out. Inputs of the graph
  /// are nodes of the op "input", states of the op "state". A pass sees values instead: its nodes
  /// have no neighbours here.
  std::vector<NodeView> producers() const;
  /// The nodes that read its results, each once, in the order of the graph.
  std::vector<NodeView> users() const;

  std::shared_ptr<const NodeViews> all;  // of its graph: what the two functions look in
  size_t at = 0;                         // where it is among them
};

/// Base of rules of one's own. Only the scales and zero points of what `scheme` returns are used.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual bool matches(const NodeView& node) const = 0;
  virtual RuleSpec scheme(const NodeView& node) const = 0;
  /// How messages call it.
  virtual std::string origin() const { return "a rule of the program"; }
  /// Not null where the rule is nothing but these keys, as in a rule file: then quantc itself looks
  /// for the nodes that its patterns mean.
  virtual const RuleSpec* values() const { return nullptr; }
};

/// Keys as a rule, for lists in which rules of both kinds stand.
std::shared_ptr<const Rule> rule_of(RuleSpec spec);

/// The rules of a file, each with `origin` "file:line". Partial ones may leave scales open, for
/// calibration to find.
Expected<std::vector<RuleSpec>> read_rules(const std::string& path, bool partial = false);
/// The same of text; arrays it names are looked for beside `path`, which is also for messages.
Expected<std::vector<RuleSpec>> parse_rules(const std::string& text, const std::string& path);
/// Writes rules as a file and, where lists of numbers are long, an archive beside it. Files that
/// quantc did not write stay unless `force` is set. Returns the path.
Expected<std::string> save_rules(const std::vector<RuleSpec>& rules, const std::string& path,
                                 bool force = false);

}  // namespace quantc
