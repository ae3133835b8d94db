#include "quant/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "quant/observer.h"
#include "support/suggest.h"

namespace qc {
namespace {

struct NamedType {
  const char* name;
  DType dtype;
};
constexpr NamedType kActivations[] = {
    {"int8", DType::i8}, {"uint8", DType::u8}, {"int16", DType::i16}, {"uint16", DType::u16}};
constexpr NamedType kWeights[] = {
    {"int8", DType::i8}, {"uint8", DType::u8}, {"int16", DType::i16}, {"int4", DType::i4}};

template <size_t N>
std::optional<DType> find(const NamedType (&types)[N], const std::string& name) {
  for (const NamedType& t : types) {
    if (name == t.name) return t.dtype;
  }
  return std::nullopt;
}

template <size_t N>
std::vector<std::string> names(const NamedType (&types)[N], const char* more = nullptr) {
  std::vector<std::string> out;
  for (const NamedType& t : types) out.emplace_back(t.name);
  if (more) out.emplace_back(more);
  return out;
}

std::string kind_of(const RuleSpec& s) {
  if (s.dtype == "float32") return "float";
  return s.kind.empty() ? "static" : s.kind;
}

DType activation_type(const RuleSpec& s) {
  if (!s.dtype.empty()) return *find(kActivations, s.dtype);
  return kind_of(s) == "dynamic" && !s.symmetric ? DType::u8 : DType::i8;
}

DType input_type(const RuleSpec& s) {
  return s.input_dtype.empty() ? activation_type(s) : *find(kActivations, s.input_dtype);
}

/// Weights are signed and as wide as the widest activations, unless stated.
DType weight_type(const RuleSpec& s) {
  if (!s.weight_dtype.empty()) return *find(kWeights, s.weight_dtype);
  const bool wide = bits(activation_type(s)) == 16 || bits(input_type(s)) == 16;
  return wide ? DType::i16 : DType::i8;
}

CodeRange codes(const RuleSpec& s) {
  const CodeRange all = code_range(activation_type(s));
  return {s.qmin.value_or(all.lo), s.qmax.value_or(all.hi)};
}

bool has_float_result(const RuleSpec& s) { return s.output_dtype == "float32"; }

/// Of 4 bits one code more or less matters, so a largest magnitude below zero takes the smallest
/// code; one above it does, too, where a zero point costs nothing: where nothing computes on the
/// codes themselves.
WeightScaling weight_scaling(const RuleSpec& s) {
  if (s.weight_zero_points) return WeightScaling::spread;
  if (weight_type(s) != DType::i4 || s.weight_qmin || s.weight_qmax)
    return WeightScaling::symmetric;
  return kind_of(s) == "weight_only" ? WeightScaling::edge : WeightScaling::inside;
}

/// Symmetric scales from the largest magnitude leave the smallest code out.
CodeRange weight_codes(const RuleSpec& s) {
  const CodeRange all = code_range(weight_type(s));
  const bool full = !s.weight_scale.empty() || !is_signed(weight_type(s)) ||
                    weight_scaling(s) != WeightScaling::symmetric;
  return {s.weight_qmin.value_or(full ? all.lo : -all.hi), s.weight_qmax.value_or(all.hi)};
}

constexpr size_t kMaxPattern = 8192;

std::optional<RuleProblem> bad_regex(const char* key, const std::string& text) {
  // Compiling takes long for what no name needs.
  if (text.size() > kMaxPattern) {
    return RuleProblem{key, fmt::format("a pattern of {} characters: at most {} are allowed",
                                        text.size(), kMaxPattern)};
  }
  if (spelled_names(text)) return std::nullopt;
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 regex(text, options);
  if (regex.ok()) return std::nullopt;
  for (const char* look : {"(?!", "(?=", "(?<!", "(?<="}) {
    if (text.find(look) == std::string::npos) continue;
    return RuleProblem{key, fmt::format("'{}' looks ahead or behind ({}), which patterns cannot: "
                                        "name what is not meant with 'exclude'",
                                        text, look)};
  }
  return RuleProblem{key, fmt::format("'{}' is not a regular expression: {}", text, regex.error())};
}

std::optional<RuleProblem> bad_scale(const char* key, const std::vector<double>& scales) {
  for (double s : scales) {
    const float stored = static_cast<float>(s);
    if (stored > 0 && std::isfinite(stored)) continue;
    return RuleProblem{key, fmt::format("{} is no scale: it must be a finite number above 0", s)};
  }
  return std::nullopt;
}

std::optional<RuleProblem> bad_offset(const char* key, const std::vector<int64_t>& offsets,
                                      CodeRange range) {
  for (int64_t z : offsets) {
    if (z < range.lo || z > range.hi) {
      return RuleProblem{key,
                         fmt::format("{} is not among the codes {} to {}", z, range.lo, range.hi)};
    }
  }
  return std::nullopt;
}

std::optional<RuleProblem> bad_range(const char* key, CodeRange range, DType dtype) {
  const CodeRange all = code_range(dtype);
  if (range.lo >= all.lo && range.hi <= all.hi && range.lo < range.hi) return std::nullopt;
  return RuleProblem{key, fmt::format("codes {} to {}: they must lie within {} to {}", range.lo,
                                      range.hi, all.lo, all.hi)};
}

std::optional<RuleProblem> bad_count(const char* key, size_t count) {
  if (count <= 1) return std::nullopt;
  return RuleProblem{key,
                     fmt::format("{} numbers where 1 is expected: a result has one scale", count)};
}

std::optional<RuleProblem> bad_type(const RuleSpec& s) {
  auto unknown = [](const char* key, const std::string& name,
                    const std::vector<std::string>& allowed, const char* more = "") {
    return RuleProblem{
        key, fmt::format("'{}' is unknown: use one of {}{}{}", name, fmt::join(allowed, ", "), more,
                         did_you_mean(name, allowed))};
  };
  const std::vector<std::string> kinds = {"static", "dynamic", "weight_only", "float"};
  const std::string kind = kind_of(s);
  if (std::ranges::find(kinds, kind) == kinds.end()) return unknown("kind", s.kind, kinds);
  if (!s.dtype.empty() && s.dtype != "float32" && !find(kActivations, s.dtype))
    return unknown("dtype", s.dtype, names(kActivations, "float32"));
  if (!s.input_dtype.empty() && !find(kActivations, s.input_dtype))
    return unknown("input_dtype", s.input_dtype, names(kActivations));
  if (!s.weight_dtype.empty() && !find(kWeights, s.weight_dtype))
    return unknown("weight_dtype", s.weight_dtype, names(kWeights));
  if (!s.output_dtype.empty() && s.output_dtype != "float32")
    return unknown("output_dtype", s.output_dtype, {"float32"}, " (codes of a result: 'dtype')");
  if (!s.attention.empty() && s.attention != "int8" && s.attention != "float")
    return unknown("attention", s.attention, {"int8", "float"});
  if (kind == "dynamic" && activation_type(s) == DType::u16)
    return unknown("dtype", s.dtype, {"int8", "uint8", "int16"}, " (dynamic)");
  if (kind == "dynamic" && activation_type(s) == DType::i16 && s.attention == "int8")
    return RuleProblem{"attention",
                       "attention is computed on codes of 8 bits, and 'dtype' is "
                       "int16: give it a rule of its own, or leave this key out"};
  return std::nullopt;
}

/// What is wrong with a range that is given instead of scales and offsets.
std::optional<RuleProblem> bad_ends(const char* low, const char* high,
                                    const std::vector<double>& lo, const std::vector<double>& hi,
                                    bool scales) {
  if (lo.empty() && hi.empty()) return std::nullopt;
  if (lo.size() != hi.size())
    return RuleProblem{lo.empty() ? high : low, fmt::format("give both '{}' and '{}'", low, high)};
  if (scales) return RuleProblem{low, "a range and a scale are given: leave out one of them"};
  for (size_t i = 0; i < lo.size(); ++i) {
    if (std::isfinite(lo[i]) && std::isfinite(hi[i]) && lo[i] < hi[i]) continue;
    return RuleProblem{low, fmt::format("{} to {} is no range", lo[i], hi[i])};
  }
  return std::nullopt;
}

std::optional<RuleProblem> bad_numbers(const RuleSpec& s) {
  const CodeRange range = codes(s), weights = weight_codes(s);
  for (auto found :
       {bad_range(s.qmin ? "qmin" : "qmax", range, activation_type(s)),
        bad_range(s.weight_qmin ? "weight_qmin" : "weight_qmax", weights, weight_type(s)),
        bad_scale("scale", s.scale), bad_scale("input_scale", s.input_scale),
        bad_scale("weight_scale", s.weight_scale),
        bad_scale("output_multiplier", s.output_multiplier),
        bad_scale("input_multiplier", s.input_multiplier), bad_count("scale", s.scale.size()),
        bad_ends("min", "max", s.min, s.max, !s.scale.empty() || !s.offset.empty()),
        bad_ends("input_min", "input_max", s.input_min, s.input_max,
                 !s.input_scale.empty() || !s.input_offset.empty()),
        bad_count("min", s.min.size()), bad_count("offset", s.offset.size()),
        bad_offset("offset", s.offset, range),
        bad_offset("input_offset", s.input_offset, code_range(input_type(s))),
        bad_offset("weight_offset", s.weight_offset, weights)}) {
    if (found) return found;
  }
  for (const double v : s.bias_correction) {
    if (std::isfinite(static_cast<float>(v))) continue;
    return RuleProblem{"bias_correction", fmt::format("{} is not a finite number", v)};
  }
  if (!s.input_offset.empty() && s.input_scale.empty())
    return RuleProblem{"input_offset", "an offset needs a scale: give 'input_scale' too"};
  if (s.input_offset.size() > 1 && s.input_offset.size() != s.input_scale.size()) {
    return RuleProblem{"input_offset", fmt::format("{} offsets for {} scales",
                                                   s.input_offset.size(), s.input_scale.size())};
  }
  if (!s.weight_offset.empty() && s.weight_scale.empty())
    return RuleProblem{"weight_offset", "an offset needs a scale: give 'weight_scale' too"};
  if (s.weight_offset.size() > 1 && s.weight_offset.size() != s.weight_scale.size()) {
    return RuleProblem{"weight_offset", fmt::format("{} offsets for {} scales",
                                                    s.weight_offset.size(), s.weight_scale.size())};
  }
  if (s.group && *s.group < 1)
    return RuleProblem{"group", fmt::format("groups of {}: they must hold 1 or more", *s.group)};
  if (s.weight_zero_points && !s.weight_scale.empty())
    return RuleProblem{"weight_zero_points",
                       "they are found with the scales: leave out 'weight_scale'"};
  if (weight_type(s) == DType::u8 && s.weight_scale.empty() && !s.weight_zero_points)
    return RuleProblem{"weight_dtype",
                       "uint8 weights need 'weight_scale' and 'weight_offset', or "
                       "'weight_zero_points'"};
  return std::nullopt;
}

Tensor tensor_of(const std::vector<double>& values, bool one) {
  std::vector<float> floats(values.begin(), values.end());
  return Tensor::of<float>(DType::f32, one ? Ints{} : Ints{static_cast<int64_t>(floats.size())},
                           floats);
}

Tensor tensor_of(const std::vector<int64_t>& values, bool one) {
  std::vector<int32_t> ints(values.begin(), values.end());
  return Tensor::of<int32_t>(DType::i32, one ? Ints{} : Ints{static_cast<int64_t>(ints.size())},
                             ints);
}

WeightScheme weights_of(const RuleSpec& s, bool per_channel) {
  WeightScheme out;
  out.dtype = weight_type(s);
  const CodeRange range = weight_codes(s);
  out.qmin = range.lo;
  out.qmax = range.hi;
  out.scaling = weight_scaling(s);
  out.group = s.group.value_or(0);
  out.granularity = s.group ? Granularity::group
                    : s.per_channel.value_or(per_channel) || s.weight_scale.size() > 1
                        ? Granularity::axis
                        : Granularity::tensor;
  const bool one = out.granularity == Granularity::tensor;
  if (!s.weight_scale.empty()) out.scale = tensor_of(s.weight_scale, one);
  if (!s.weight_offset.empty()) {
    out.zero_point = tensor_of(s.weight_offset, s.weight_offset.size() == 1);
  }
  return out;
}

WeightChange change_of(const RuleSpec& s) {
  WeightChange out;
  if (!s.output_multiplier.empty()) out.output_multiplier = tensor_of(s.output_multiplier, false);
  if (!s.input_multiplier.empty()) out.input_multiplier = tensor_of(s.input_multiplier, false);
  if (!s.bias_correction.empty()) out.bias_correction = tensor_of(s.bias_correction, false);
  return out;
}

QType format_of(DType dtype, double scale, int64_t offset, CodeRange range) {
  return tensor_format(dtype, static_cast<float>(scale), static_cast<int32_t>(offset), range.lo,
                       range.hi);
}

Result<std::vector<std::optional<QType>>> inputs_of(const RuleSpec& s, const Node& node) {
  std::vector<std::optional<QType>> out;
  if (s.input_scale.empty()) return out;
  const size_t count = s.input_scale.size();
  if (count > 1 && count > node.input_count()) {
    return error(Code::rule, Loc{s.origin, node.loc().names, node.loc().op},
                 "input_scale has {} numbers, but {} has {} operands", count, node.op(),
                 node.input_count());
  }
  for (size_t i = 0; i < (count == 1 ? node.input_count() : count); ++i) {
    if (count == 1 && node.input(i) && node.input(i)->is_constant()) {
      out.push_back(std::nullopt);
      continue;
    }
    const auto at = [i](const auto& list) { return list[list.size() == 1 ? 0 : i]; };
    const int64_t offset = s.input_offset.empty() ? 0 : at(s.input_offset);
    out.push_back(format_of(input_type(s), at(s.input_scale), offset, code_range(input_type(s))));
  }
  return out;
}

}  // namespace

std::optional<RuleProblem> problem_of(const RuleSpec& s, Missing missing) {
  for (auto found :
       {bad_regex("pattern", s.pattern), bad_regex("exclude", s.exclude), bad_type(s)}) {
    if (found) return found;
  }
  if (kind_of(s) == "float") return std::nullopt;
  if (auto found = bad_numbers(s)) return found;
  const bool codes_out = kind_of(s) == "static" && !has_float_result(s);
  if (codes_out && s.scale.empty() && s.min.empty() && missing == Missing::refused) {
    return RuleProblem{"scale",
                       "missing: a static rule needs the scale of the result, or 'min' and 'max'; "
                       "calibrate --rules finds what is missing"};
  }
  if (has_float_result(s) && !s.min.empty())
    return RuleProblem{"min", "an f32 result has none: say 'input_min' for what the node reads"};
  if (has_float_result(s) && (!s.scale.empty() || !s.offset.empty())) {
    return RuleProblem{s.scale.empty() ? "offset" : "scale",
                       "an f32 result has none: say "
                       "'input_scale' for what the node reads"};
  }
  if (!s.arithmetic.empty()) {
    if (auto parsed = parse_arithmetic(s.arithmetic); !parsed.ok())
      return RuleProblem{"arithmetic", parsed.diag().text};
  }
  return std::nullopt;
}

RuleSpec with_scales(RuleSpec s) {
  auto convert = [](std::vector<double>& lo, std::vector<double>& hi, CodeRange range, DType dtype,
                    std::vector<double>& scales, std::vector<int64_t>& offsets) {
    for (size_t i = 0; i < lo.size(); ++i) {
      const ScaleOffset found = scale_offset({lo[i], hi[i]}, range, dtype);
      scales.push_back(found.scale);
      offsets.push_back(found.offset);
    }
    lo.clear();
    hi.clear();
  };
  const DType results = activation_type(s), inputs = input_type(s);
  convert(s.min, s.max, codes(s), results, s.scale, s.offset);
  convert(s.input_min, s.input_max, code_range(inputs), inputs, s.input_scale, s.input_offset);
  return s;
}

PatternRule::PatternRule(RuleSpec spec) : spec_(with_scales(std::move(spec))) {
  if (!spec_.pattern.empty()) pattern_.emplace(spec_.pattern);
  if (!spec_.exclude.empty()) exclude_.emplace(spec_.exclude);
}

bool PatternRule::matches(const Node& node) const {
  return (spec_.op.empty() || spec_.op == node.op()) && matches_names(node);
}

std::string_view PatternRule::missed_op(const Node& node) const {
  const bool other = !spec_.op.empty() && spec_.op != node.op();
  return other && matches_names(node) ? std::string_view(spec_.op) : std::string_view();
}

bool PatternRule::matches_names(const Node& node) const {
  const auto any = [&](const NamePattern& pattern) {
    return std::ranges::any_of(node.loc().names,
                               [&](const std::string& name) { return pattern.matches(name); });
  };
  return (!pattern_ || any(*pattern_)) && (!exclude_ || !any(*exclude_));
}

QScheme PatternRule::scheme_of(QScheme::Kind kind) const {
  QScheme out;
  out.kind = kind;
  out.origin = spec_.origin;
  out.skip_unsupported = spec_.skip_unsupported;
  out.attention_on_codes = spec_.attention != "float";
  if (!spec_.arithmetic.empty()) out.arithmetic = parse_arithmetic(spec_.arithmetic).value();
  return out;
}

Result<QScheme> StaticQuantRule::scheme(const Node& node) const {
  QScheme out = scheme_of(QScheme::Kind::fixed);
  out.change = change_of(spec_);
  if (!has_float_result(spec_)) {
    out.output = format_of(activation_type(spec_), spec_.scale[0],
                           spec_.offset.empty() ? 0 : spec_.offset[0], codes(spec_));
  }
  QC_ASSIGN(out.inputs, inputs_of(spec_, node));
  out.weight = weights_of(spec_, false);
  return out;
}

Result<QScheme> DynamicQuantRulePerTensor::scheme(const Node&) const {
  QScheme out = scheme_of(QScheme::Kind::dynamic);
  // Codes of 16 bits are symmetric, as static ones are: their differences fit 16 bits.
  const bool wide = activation_type(spec_) == DType::i16;
  out.dynamic = {activation_type(spec_), spec_.symmetric || wide, false};
  out.attention_on_codes = out.attention_on_codes && !wide;
  out.weight = weights_of(spec_, false);
  return out;
}

Result<QScheme> DynamicQuantRulePerToken::scheme(const Node& node) const {
  QC_ASSIGN(QScheme out, DynamicQuantRulePerTensor::scheme(node));
  out.dynamic.per_token = true;
  return out;
}

Result<QScheme> WeightOnlyRule::scheme(const Node&) const {
  QScheme out = scheme_of(QScheme::Kind::weight_only);
  out.weight = weights_of(spec_, true);
  return out;
}

Result<QScheme> FloatRule::scheme(const Node&) const { return scheme_of(QScheme::Kind::keep); }

Result<std::unique_ptr<QuantRule>> make_rule(const RuleSpec& spec) {
  if (auto found = problem_of(spec)) {
    return error(Code::rule, Loc{spec.origin, {}, {}}, "{}: {}", found->key, found->text);
  }
  const std::string kind = kind_of(spec);
  std::unique_ptr<QuantRule> out;
  if (kind == "float") {
    out = std::make_unique<FloatRule>(spec);
  } else if (kind == "weight_only") {
    out = std::make_unique<WeightOnlyRule>(spec);
  } else if (kind == "static") {
    out = std::make_unique<StaticQuantRule>(spec);
  } else if (spec.per_token) {
    out = std::make_unique<DynamicQuantRulePerToken>(spec);
  } else {
    out = std::make_unique<DynamicQuantRulePerTensor>(spec);
  }
  return out;
}

Result<QScheme> scheme_for(const RuleSpec& spec, const Node& node) {
  QC_ASSIGN(auto rule, make_rule(spec));
  return rule->scheme(node);
}

}  // namespace qc
