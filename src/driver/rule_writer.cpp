#include "driver/rule_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/quantized_ops.h"
#include "quant/constants.h"
#include "quant/quantizable.h"
#include "quant/rule_file.h"
#include "quant/scores.h"
#include "support/counted.h"
#include "support/escape.h"
#include "support/suggest.h"

namespace qc {
namespace {

std::string pattern_for(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : "|") + regex_literal(n);
  return (names.size() == 1 ? out : "(?:" + out + ")") + "$";
}

/// What a node of another graph of the same model is recognised by.
std::string key_of(const Node& n) {
  return fmt::format("{}\n{}", n.op(), fmt::join(n.loc().names, "\n"));
}

/// The sum of two values, as where a shortcut ends.
bool is_residual(Node& n) {
  const auto* sum = capability<MaySum>(&n);
  return sum && sum->is_sum() && !n.input(0)->is_constant() && !n.input(1)->is_constant();
}

DType type_named(const std::string& name) {
  return name == "uint8"    ? DType::u8
         : name == "int16"  ? DType::i16
         : name == "uint16" ? DType::u16
                            : DType::i8;
}

/// What a partial rule says goes before what was found.
RuleSpec merged(const RuleSpec& said, RuleSpec found) {
  RuleSpec out = said;
  out.pattern = found.pattern;
  out.exclude.clear();
  out.op = found.op;
  auto fill = [](auto& to, auto& from) {
    if (to.empty()) to = std::move(from);
  };
  fill(out.dtype, found.dtype);
  fill(out.output_dtype, found.output_dtype);
  fill(out.scale, found.scale);
  fill(out.offset, found.offset);
  fill(out.input_dtype, found.input_dtype);
  fill(out.input_scale, found.input_scale);
  fill(out.input_offset, found.input_offset);
  fill(out.weight_dtype, found.weight_dtype);
  fill(out.output_multiplier, found.output_multiplier);
  fill(out.input_multiplier, found.input_multiplier);
  fill(out.bias_correction, found.bias_correction);
  return out;
}

/// A rule of another kind than those that are found, which says itself what `[default]` would
/// otherwise say for them.
RuleSpec apart(RuleSpec rule) {
  if (rule.kind == "dynamic" && rule.dtype.empty()) rule.dtype = rule.symmetric ? "int8" : "uint8";
  const bool has_weights = rule.kind == "dynamic" || rule.kind == "weight_only";
  if (has_weights && rule.weight_dtype.empty()) rule.weight_dtype = "int8";
  if (rule.kind == "weight_only" && !rule.per_channel) rule.per_channel = true;
  return rule;
}

const char* type_name(DType dtype) {
  return dtype == DType::u8    ? "uint8"
         : dtype == DType::i16 ? "int16"
         : dtype == DType::u16 ? "uint16"
                               : "int8";
}

}  // namespace

std::optional<ResultTypes> parse_result_types(std::string_view name) {
  constexpr std::string_view kNames[] = {"auto", "narrow", "sums", "wide", "float32"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<ResultTypes>(i);
  }
  return std::nullopt;
}

DType activation_type(const CalibrateOptions& options) {
  return options.activations == "uint8"   ? DType::u8
         : options.activations == "int16" ? DType::i16
                                          : DType::i8;
}

SizeTables size_tables(const Graph& open) {
  SizeTables out;
  for (const Node* n = open.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->input_count(); ++i) {
      const Value* v = n->input(i);
      if (v && !v->is_constant()) out.insert({key_of(*n), i});
    }
  }
  return out;
}

RuleWriter::RuleWriter(Graph& graph, const RuleTargets& targets, const Watched& watched,
                       const Changes& changes, const CalibrateOptions& options, SizeTables tables)
    : graph_(graph),
      targets_(targets),
      watched_(watched),
      changes_(changes),
      options_(options),
      tables_(std::move(tables)),
      narrow_(activation_type(options)) {
  for (Node* n = graph.first(); n; n = n->next()) {
    for (const std::string& name : n->loc().names) {
      const auto [it, fresh] = op_named_.try_emplace(name, n->op());
      if (!fresh && it->second != n->op()) it->second.clear();
    }
  }
}

Result<Ok> RuleWriter::run(int64_t runs) {
  for (Node* n = graph_.first(); n; n = n->next()) {
    QC_TRY(visit(*n));
    for (const auto& region : n->regions()) pass_over(*region);
  }
  QC_TRY(targets_.check_uses());
  warn_of_few_elements(runs);
  for (const std::string& op : options_.ops) {
    const bool found = std::any_of(entries_.begin(), entries_.end(),
                                   [&](const Entry& e) { return e.spec && e.op == op; });
    if (!found) {
      std::vector<std::string> known;
      for (const Node* n = graph_.first(); n; n = n->next()) {
        if (std::ranges::find(known, n->op()) == known.end()) known.emplace_back(n->op());
      }
      return error(Code::usage, Loc{graph_.file, {}, {}},
                   "--ops: no rule can be written for '{}'; the model has {}{}", op,
                   fmt::join(known, ", "), did_you_mean(op, known));
    }
  }
  return Ok{};
}

std::string RuleWriter::text(const std::string& archive, std::vector<NamedArray>& arrays) const {
  std::string out;
  for (const Entry& e : entries_) {
    out += e.spec ? fmt::format("[[rule]]  # {}\n{}\n", e.op, rule_keys(*e.spec, archive, arrays))
                  : fmt::format("# {} ({}) stays float: {}\n\n", shown(e.name), e.op, e.why_not);
  }
  return out;
}

/// Says of the nodes of a body that they have no rule.
void RuleWriter::pass_over(Graph& body) {
  for_each_graph(body, [&](Graph& graph) {
    for (Node* n = graph.first(); n; n = n->next()) {
      if (!gives_f32(*n)) continue;
      if (runs_on_codes(*n) || activations(*n).empty() || !has_quantized_op(*n)) continue;
      passed_over_.push_back(name_of(*n));
      entries_.push_back({name_of(*n), std::string(n->op()), std::nullopt,
                          "values in the body of a branch or loop are not watched"});
    }
  });
}

RangeMethod RuleWriter::method_for(const Observer& observer) const {
  if (options_.range != RangeMethod::entropy) return options_.range;
  ++ranges_;
  fewest_ = std::min(fewest_, observer.seen());
  if (observer.seen() >= Observer::kEntropyElements) return RangeMethod::entropy;
  ++of_few_;
  return RangeMethod::minmax;
}

void RuleWriter::warn_of_few_elements(int64_t runs) {
  if (of_few_ == 0) return;
  // Of the value of which there is least, as many samples give enough.
  const int64_t each = std::max<int64_t>(fewest_ / std::max<int64_t>(runs, 1), 1);
  const int64_t enough = (Observer::kEntropyElements + each - 1) / each;
  warnings_.push_back(fmt::format(
      "--method entropy: {} of {} ranges are those of minmax, for with {} the values have fewer "
      "than {} elements, down to {}: {} samples are enough for all",
      of_few_, ranges_, counted(runs, "sample"), Observer::kEntropyElements, fewest_, enough));
}

std::string RuleWriter::why_none() const {
  if (std::ranges::any_of(entries_, [](const Entry& e) { return e.spec.has_value(); })) return {};
  if (entries_.empty()) return "no node that is meant computes f32 values from the inputs";
  const Entry& e = entries_.front();
  return fmt::format("{} stay{} float, the first is '{}' ({}): {}",
                     counted(entries_.size(), "node"), entries_.size() == 1 ? "s" : "", e.name,
                     e.op, e.why_not);
}

RuleWriter::ValueFormat RuleWriter::format(const Observer& observer, std::optional<double> floor,
                                           DType dtype) const {
  const CodeRange codes = code_range(dtype);
  const bool wide = bits(dtype) == 16;
  const int levels = static_cast<int>(codes.hi - codes.lo + 1);
  ValueRange range = observer.range(method_for(observer), levels, options_.percentile);
  // Masked scores saturate to a code that is as far down as they must be, and no further.
  if (floor && (observer.masks() || observer.extremes().lo <= *floor)) {
    range = {*floor, std::max(*floor, range.hi)};
  }
  const double headroom = options_.headroom > 0 ? options_.headroom : wide ? 2 : 1;
  range.lo *= headroom;
  range.hi *= headroom;
  return {dtype, scale_offset(range, codes, dtype)};
}

DType RuleWriter::result_type(Node& n) const {
  const RuleSpec* said = targets_.stated(n);
  return said && !said->dtype.empty() ? type_named(said->dtype) : own_result_type(n);
}

/// Whether the node's own result has 16 bits among narrow ones.
bool RuleWriter::needs_width(Node& n) const {
  const bool sums = options_.result_types == ResultTypes::sums;
  if (sums && (is_residual(n) || is_shortcut(*n.output()))) return true;
  return (sums || options_.result_types == ResultTypes::fitting) && watched_.uneven(n.output());
}

/// Whether the value is, or is part of, a sum that a norm reads, and no product reads it. Such sums
/// carry the roundings of all layers before them on.
bool RuleWriter::is_shortcut(const Value& value) const {
  if (!watched_.normalised(&value)) return false;
  const std::vector<Node*> users = value.users();
  if (std::any_of(users.begin(), users.end(), [](Node* user) { return is_product(*user); })) {
    return false;
  }
  return (value.def() && is_residual(*value.def())) ||
         std::any_of(users.begin(), users.end(), [](Node* user) { return is_residual(*user); });
}

DType RuleWriter::own_result_type(Node& n) const {
  if (options_.result_types == ResultTypes::wide || needs_width(n)) return DType::i16;
  const std::vector<Node*> users = n.output()->users();
  const bool summed = !users.empty() && n.output()->pinned() == 0 &&
                      std::all_of(users.begin(), users.end(), [&](Node* user) {
                        return is_residual(*user) && needs_width(*user);
                      });
  return summed && !runs_on_codes(n) ? DType::i16 : narrow_;
}

/// One type for all operands: what products read is narrow, all others take what is given.
DType RuleWriter::operand_type(Node& n, const std::vector<size_t>& operands) const {
  const bool narrow =
      options_.result_types == ResultTypes::narrow || options_.result_types == ResultTypes::floats;
  if (narrow || is_product(n)) return narrow_;
  if (options_.result_types == ResultTypes::wide || (is_residual(n) && needs_width(n)))
    return DType::i16;
  for (size_t i : operands) {
    const auto it = formats_.find(n.input(i));
    if (it != formats_.end() && it->second.dtype == DType::i16) return DType::i16;
    if (options_.result_types == ResultTypes::sums && is_shortcut(*n.input(i))) return DType::i16;
  }
  return narrow_;
}

/// The format of operand i, for this node and all nodes that share its rule.
Result<RuleWriter::ValueFormat> RuleWriter::operand_format(Node& n, size_t i, DType dtype) const {
  const auto& group = targets_.group(n).nodes;
  if (const auto it = formats_.find(n.input(i));
      it != formats_.end() && group.size() == 1 && it->second.dtype == dtype) {
    return it->second;
  }
  Observer all(options_.range != RangeMethod::minmax);
  for (const Node* member : group) {
    const Value* v = i < member->input_count() ? member->input(i) : nullptr;
    if (!v || v->dtype() != DType::f32) continue;
    if (!v->is_constant()) {
      all.merge(watched_.observer(v));
      continue;
    }
    QC_ASSIGN(const Tensor t, graph_.pool().get(v->constant()));
    all.see({t.data<float>(), static_cast<size_t>(t.size())});
  }
  const bool alone = group.size() == 1;
  const std::optional<double> floor = !alone                      ? std::nullopt
                                      : n.input(i)->is_constant() ? watched_.operand_floor(n, i)
                                                                  : watched_.floor(n.input(i));
  return format(all, floor, dtype);
}

RuleWriter::ValueFormat RuleWriter::result_format(Node& n) const {
  if (const RuleSpec* said = targets_.stated(n); said && !said->scale.empty()) {
    const auto offset = said->offset.empty() ? 0 : static_cast<int32_t>(said->offset[0]);
    return {result_type(n), {static_cast<float>(said->scale[0]), offset}};
  }
  const auto& group = targets_.group(n).nodes;
  Observer results(options_.range != RangeMethod::minmax);
  for (const Node* member : group) results.merge(watched_.observer(member->output()));
  const bool alone = group.size() == 1;
  return format(results, alone ? watched_.floor(n.output()) : std::nullopt, result_type(n));
}

/// Whether operand i is a constant with elements that only mask.
Result<bool> RuleWriter::only_masks(Node& n, size_t i) const {
  const Value* v = n.input(i);
  const std::optional<double> floor =
      v->is_constant() ? watched_.operand_floor(n, i) : std::nullopt;
  if (!floor) return false;
  QC_ASSIGN(const Tensor t, graph_.pool().get(v->constant()));
  const float* x = t.data<float>();
  return std::any_of(x, x + t.size(), [&](float e) { return static_cast<double>(e) < *floor; });
}

void RuleWriter::warn_of_nans(const Node& n) {
  const Value* y = n.output();
  if (Watched::origin(y) != y) return;
  if (const int64_t nans = watched_.observer(y).nans(); nans > 0) {
    warnings_.push_back(
        fmt::format("{} elements of '{}' ({}) were NaN: they are left out of its "
                    "range",
                    nans, name_of(n), n.op()));
  }
}

Result<Ok> RuleWriter::visit(Node& n) {
  if (!gives_f32(n)) return Ok{};
  warn_of_nans(n);
  const std::vector<size_t> operands = activations(n);
  if (runs_on_codes(n) && passes_on(n, operands)) return Ok{};
  const std::string name = name_of(n);
  if (!targets_.is_meant(n)) return Ok{};
  if (!targets_.has_rule(n)) {
    if (!operands.empty()) entries_.push_back({name, std::string(n.op()), std::nullopt});
    return Ok{};
  }
  const RuleTargets::Group& group = targets_.group(n);
  const bool first = group.nodes.front() == &n;
  RuleSpec spec;
  spec.pattern = pattern_for(group.names);
  // What was fused into the node inherits its rule; the scales and zero points of operands are for
  // the node alone.
  if (shares_name(group) || group.names.size() > 1) spec.op = n.op();
  const RuleSpec* said = targets_.stated(n);
  if (said && is_complete(*said)) {
    if (first) {
      entries_.push_back({name, std::string(n.op()), apart(merged(*said, std::move(spec)))});
    }
    return Ok{};
  }
  const bool floats = said && !said->output_dtype.empty() ? true
                      : said && !said->dtype.empty()      ? false
                                                     : options_.result_types == ResultTypes::floats;
  const ValueFormat result = result_format(n);
  for (size_t i = 0; i < n.output_count() && !floats; ++i) formats_[n.output(i)] = result;
  if (!first) return Ok{};
  if (floats) {
    spec.output_dtype = "float32";
  } else {
    if (result.dtype != narrow_) spec.dtype = type_name(result.dtype);
    spec.scale = {result.format.scale};
    if (result.format.offset != 0) spec.offset = {result.format.offset};
    if (result.dtype != narrow_ && is_product(n)) spec.weight_dtype = "int8";
  }
  QC_TRY(state_inputs(n, operands, result, spec));
  if (said) spec = merged(*said, std::move(spec));
  QC_TRY(change(n, spec));
  entries_.push_back({name, std::string(n.op()), std::move(spec)});
  return Ok{};
}

/// Whether a node of another op has one of the names: one node of a model may become several.
bool RuleWriter::shares_name(const RuleTargets::Group& group) const {
  return std::any_of(group.names.begin(), group.names.end(), [&](const std::string& name) {
    return op_named_.at(name) != group.nodes.front()->op();
  });
}

/// Ops on codes need no rule where all operands have one format, or none has.
bool RuleWriter::passes_on(const Node& n, const std::vector<size_t>& operands) {
  const ValueFormat* format = nullptr;
  size_t known = 0;
  for (size_t i : operands) {
    const auto it = formats_.find(n.input(i));
    if (it == formats_.end()) continue;
    if (format && !(*format == it->second)) return false;
    format = &it->second;
    ++known;
  }
  if (known != operands.size()) return known == 0 && operands.size() == 1;
  if (!format) return true;
  const ValueFormat same = *format;
  for (size_t i = 0; i < n.output_count(); ++i) formats_[n.output(i)] = same;
  return true;
}

/// Writes the scales and zero points of all operands, so that they hold whoever makes them: the
/// node before may be kept float later. Constants find theirs by themselves, unless they mask or
/// depend on sizes.
Result<Ok> RuleWriter::state_inputs(Node& n, const std::vector<size_t>& operands,
                                    const ValueFormat& result, RuleSpec& spec) const {
  const bool joins = runs_on_codes(n);  // a concatenation: one format for all
  const auto finds_its_own = [&](size_t i) {
    return n.input(i)->is_constant() && tables_.count({key_of(n), i}) == 0;
  };
  bool one = !joins && std::count_if(operands.begin(), operands.end(),
                                     [&](size_t i) { return !finds_its_own(i); }) == 1;
  for (size_t i : operands) {
    QC_ASSIGN(const bool masks, only_masks(n, i));
    one = one && !masks;
  }
  const RuleSpec* said = targets_.stated(n);
  const DType type = joins                                ? result.dtype
                     : said && !said->input_dtype.empty() ? type_named(said->input_dtype)
                     : said && !said->dtype.empty()       ? result.dtype
                                                          : operand_type(n, operands);
  const size_t count = one ? 1 : operands.back() + 1;
  spec.input_scale.assign(count, static_cast<double>(result.format.scale));
  spec.input_offset.assign(count, result.format.offset);
  for (size_t k = 0; k < operands.size() && !joins; ++k) {
    if (one && finds_its_own(operands[k])) continue;
    QC_ASSIGN(const ValueFormat f, operand_format(n, operands[k], type));
    const size_t at = one ? 0 : operands[k];
    spec.input_scale[at] = static_cast<double>(f.format.scale);
    spec.input_offset[at] = f.format.offset;
  }
  if (type != result.dtype) spec.input_dtype = type_name(type);
  if (std::all_of(spec.input_offset.begin(), spec.input_offset.end(),
                  [](int64_t z) { return z == 0; })) {
    spec.input_offset.clear();
  }
  return Ok{};
}

Result<Ok> RuleWriter::change(Node& n, RuleSpec& spec) const {
  if (const auto it = changes_.find(&n); it != changes_.end()) {
    spec.output_multiplier = it->second.output;
    spec.input_multiplier = it->second.input;
  }
  // The errors of one of several nodes are not those of the others.
  const bool alone = targets_.group(n).nodes.size() == 1;
  if (!alone || !options_.bias_correction || !spec.bias_correction.empty()) return Ok{};
  RuleSpec weights = spec;
  if (weights.dtype.empty()) weights.dtype = options_.activations;
  if (!weights.per_channel) weights.per_channel = options_.per_channel;
  QC_ASSIGN(const QScheme scheme, scheme_for(weights, n));
  QC_ASSIGN(spec.bias_correction, mean_weight_error(graph_, n, scheme.weight, watched_));
  return Ok{};
}

}  // namespace qc
