#include "driver/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/equalise.h"
#include "driver/watch.h"
#include "interp/interpreter.h"
#include "passes/form_quantized.h"
#include "quant/constants.h"
#include "quant/quantizable.h"
#include "quant/rule_file.h"
#include "quant/rules.h"
#include "support/escape.h"

namespace qc {
namespace {

std::string pattern_for(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : "|") + regex_literal(n);
  return (names.size() == 1 ? out : "(?:" + out + ")") + "$";
}

/// Turns what was watched into rules, node by node.
class RuleWriter {
 public:
  RuleWriter(Graph& graph, const Watched& watched, const Changes& changes,
             const CalibrateOptions& options)
      : graph_(graph), watched_(watched), changes_(changes), options_(options) {
    for (Node* n = graph.first(); n; n = n->next()) groups_[key_of(*n)].push_back(n);
  }

  Result<Ok> run() {
    for (Node* n = graph_.first(); n; n = n->next()) {
      QC_TRY(visit(*n));
      for (const auto& region : n->regions()) pass_over(*region);
    }
    return Ok{};
  }

  /// Nodes that have a quantized form, but lie where values are not watched.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  /// Rules as sections of the file; long lists go to `arrays`.
  std::string text(const std::string& archive, std::vector<NamedArray>& arrays) const {
    std::string out;
    for (const Entry& e : entries_) {
      out += e.spec ? fmt::format("[[rule]]  # {}\n{}\n", e.op, rule_keys(*e.spec, archive, arrays))
                    : fmt::format("# {} ({}) stays float: {}\n\n", shown(e.name), e.op, e.why_not);
    }
    return out;
  }

 private:
  struct Entry {
    std::string name, op;
    std::optional<RuleSpec> spec;
    std::string_view why_not = "no quantized form";
  };

  static std::string name_of(const Node& n) {
    return n.loc().names.empty() ? std::string() : n.loc().names[0];
  }

  /// Says of the nodes of a body that they have no rule.
  void pass_over(Graph& body) {
    for_each_graph(body, [&](Graph& graph) {
      for (Node* n = graph.first(); n; n = n->next()) {
        if (n->output_count() == 0 || n->output()->dtype() != DType::f32) continue;
        if (runs_on_codes(*n) || activations(*n).empty() || !has_quantized_form(*n)) continue;
        passed_over_.push_back(name_of(*n));
        entries_.push_back({name_of(*n), std::string(n->op()), std::nullopt,
                            "values in the body of a branch or loop are not watched"});
      }
    });
  }

  /// Nodes that no rule can tell apart, such as the layers of one recurrent node, share one.
  static std::string key_of(const Node& n) {
    return fmt::format("{}\n{}", n.op(), fmt::join(n.loc().names, "\n"));
  }

  ScaleOffset numbers(const Observer& observer) const {
    const DType dtype = options_.activations == "uint8"   ? DType::u8
                        : options_.activations == "int16" ? DType::i16
                                                          : DType::i8;
    const CodeRange codes = code_range(dtype);
    const int levels = static_cast<int>(codes.hi - codes.lo + 1);
    return scale_offset(observer.range(options_.method, levels, options_.percentile), codes,
                        dtype == DType::i16);
  }

  /// Of operand i of the node and of those that share its rule.
  Result<ScaleOffset> operand_numbers(const Node& n, size_t i) const {
    const auto& group = groups_.at(key_of(n));
    if (const auto it = formats_.find(n.input(i)); it != formats_.end() && group.size() == 1) {
      return it->second;
    }
    Observer all(options_.method != RangeMethod::minmax);
    for (const Node* member : group) {
      const Value* v = member->input(i);
      if (!v || v->dtype() != DType::f32) continue;
      if (!v->is_constant()) {
        all.merge(watched_.observer(v));
        continue;
      }
      QC_ASSIGN(const Tensor t, graph_.pool().get(v->constant()));
      all.see({t.data<float>(), static_cast<size_t>(t.size())});
    }
    return numbers(all);
  }

  ScaleOffset result_numbers(const Node& n) const {
    Observer all(options_.method != RangeMethod::minmax);
    for (const Node* member : groups_.at(key_of(n))) all.merge(watched_.observer(member->output()));
    return numbers(all);
  }

  /// Operands with values to quantize: f32, neither weights nor a bias, nor parameters of what
  /// computes in float.
  static std::vector<size_t> activations(Node& n) {
    std::vector<size_t> out;
    const auto* form = capability<Quantizable>(&n);
    for (size_t i = 0; i < n.input_count(); ++i) {
      const Value* v = n.input(i);
      if (!v || v->dtype() != DType::f32) continue;
      if (form && (form->is_float_operand(i) || (form->is_weight(i) && v->is_constant()))) continue;
      if (!form && v->is_constant() && !runs_on_codes(n)) continue;
      out.push_back(i);
    }
    return out;
  }

  Result<Ok> visit(Node& n) {
    if (n.output_count() == 0 || n.output()->dtype() != DType::f32) return Ok{};
    const std::vector<size_t> operands = activations(n);
    if (runs_on_codes(n) && passes_on(n, operands)) return Ok{};
    const std::string name = name_of(n);
    if (operands.empty() || name.empty() || !has_quantized_form(n)) {
      if (!operands.empty()) entries_.push_back({name, std::string(n.op()), std::nullopt});
      return Ok{};
    }
    const ScaleOffset result = result_numbers(n);
    for (size_t i = 0; i < n.output_count(); ++i) formats_[n.output(i)] = result;
    if (groups_.at(key_of(n)).front() != &n) return Ok{};
    RuleSpec spec;
    spec.pattern = pattern_for(n.loc().names);
    // What was fused into the node inherits its rule; the numbers of operands are for the node
    // alone.
    if (shares_name(n) || n.loc().names.size() > 1) spec.op = n.op();
    spec.scale = {result.scale};
    if (result.offset != 0) spec.offset = {result.offset};
    QC_TRY(state_inputs(n, operands, result, spec));
    QC_TRY(change(n, spec));
    entries_.push_back({name, std::string(n.op()), std::move(spec)});
    return Ok{};
  }

  /// Whether a node of another op has one of its names: one node of a model may become several.
  bool shares_name(const Node& n) const {
    for (const Node* other = graph_.first(); other; other = other->next()) {
      if (other->op() == n.op()) continue;
      for (const std::string& name : n.loc().names) {
        const auto& names = other->loc().names;
        if (std::find(names.begin(), names.end(), name) != names.end()) return true;
      }
    }
    return false;
  }

  /// Ops on codes need no rule where all operands have one format, or none has.
  bool passes_on(const Node& n, const std::vector<size_t>& operands) {
    const ScaleOffset* format = nullptr;
    size_t known = 0;
    for (size_t i : operands) {
      const auto it = formats_.find(n.input(i));
      if (it == formats_.end()) continue;
      if (format && (format->scale != it->second.scale || format->offset != it->second.offset)) {
        return false;
      }
      format = &it->second;
      ++known;
    }
    if (known != operands.size()) return known == 0 && operands.size() == 1;
    if (!format) return true;
    const ScaleOffset same = *format;
    for (size_t i = 0; i < n.output_count(); ++i) formats_[n.output(i)] = same;
    return true;
  }

  /// Writes scales of operands that no rule gives codes; all of them where one is missing.
  Result<Ok> state_inputs(const Node& n, const std::vector<size_t>& operands,
                          const ScaleOffset& result, RuleSpec& spec) const {
    const bool joins = runs_on_codes(n);  // a concatenation: one format for all
    bool missing = joins || groups_.at(key_of(n)).size() > 1;
    for (size_t i : operands) {
      missing = missing || (!n.input(i)->is_constant() && formats_.count(n.input(i)) == 0);
    }
    if (!missing) return Ok{};
    const bool one = std::count_if(operands.begin(), operands.end(),
                                   [&](size_t i) { return !n.input(i)->is_constant(); }) == 1;
    const size_t count = one && !joins ? 1 : operands.back() + 1;
    spec.input_scale.assign(count, static_cast<double>(result.scale));
    spec.input_offset.assign(count, result.offset);
    for (size_t k = 0; k < operands.size() && !joins; ++k) {
      if (one && n.input(operands[k])->is_constant()) continue;
      QC_ASSIGN(const ScaleOffset s, operand_numbers(n, operands[k]));
      const size_t at = one ? 0 : operands[k];
      spec.input_scale[at] = static_cast<double>(s.scale);
      spec.input_offset[at] = s.offset;
    }
    if (std::all_of(spec.input_offset.begin(), spec.input_offset.end(),
                    [](int64_t z) { return z == 0; })) {
      spec.input_offset.clear();
    }
    return Ok{};
  }

  Result<Ok> change(Node& n, RuleSpec& spec) const {
    if (const auto it = changes_.find(&n); it != changes_.end()) {
      spec.output_multiplier = it->second.output;
      spec.input_multiplier = it->second.input;
    }
    if (!options_.bias_correction) return Ok{};
    RuleSpec weights = spec;
    weights.dtype = options_.activations;
    weights.per_channel = options_.per_channel;
    QC_ASSIGN(const QScheme scheme, scheme_for(weights, n));
    QC_ASSIGN(spec.bias_correction, mean_weight_error(graph_, n, scheme.weight, watched_));
    return Ok{};
  }

  Graph& graph_;
  const Watched& watched_;
  const Changes& changes_;
  const CalibrateOptions& options_;
  std::map<std::string, std::vector<Node*>> groups_;  // by key_of()
  std::map<const Value*, ScaleOffset> formats_;       // of values that rules give codes
  std::vector<Entry> entries_;
  std::vector<std::string> passed_over_;
};

}  // namespace

Result<Calibration> calibrate(const Graph& model, const Options& options, Samples samples,
                              const CalibrateOptions& calibration, const std::string& archive) {
  QC_ASSIGN(const Bindings bindings, bindings_for(model, samples.first()));
  Options one = options;
  one.rules_file.clear();
  one.ranges.clear();
  one.dims.insert(bindings.begin(), bindings.end());
  QC_ASSIGN(auto graph, copy(model));
  graph->file = model.file;
  QC_TRY(make_contract(*graph, one));
  Changes changes;
  if (calibration.equalise) {
    QC_ASSIGN(changes, equalise(*graph));
  }
  Watched watched(
      *graph, calibration.method != RangeMethod::minmax,
      calibration.bias_correction ? weighted_inputs(*graph) : std::map<const Value*, int64_t>{});
  QC_TRY(watched.run(*graph, one, samples, calibration));
  RuleWriter writer(*graph, watched, changes, calibration);
  QC_TRY(writer.run());
  Calibration out;
  out.runs = samples.count();
  out.passed_over = writer.passed_over();
  RuleSpec common;
  common.dtype = calibration.activations;
  common.per_channel = calibration.per_channel;
  out.rules = "[default]\n" + rule_keys(common, archive, out.arrays) + "\n";
  out.rules += writer.text(archive, out.arrays);
  return out;
}

}  // namespace qc
