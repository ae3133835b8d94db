#include "quant/arithmetic.h"

#include <fmt/format.h>

#include "ir/graph.h"
#include "ir/op_table.h"
#include "support/suggest.h"

namespace qc {
namespace {

struct Preset {
  std::string_view name;
  Arithmetic arithmetic;
};
constexpr Preset kPresets[] = {
    {"exact", {}},
    {"onnxruntime",
     {.combine = Arithmetic::Combine::onnxruntime,
      .softmax = Arithmetic::Softmax::onnxruntime,
      .signed_codes = Arithmetic::Signed::shifted}},
    {"torch",
     {.quantize = Arithmetic::Quantize::reciprocal,
      .combine = Arithmetic::Combine::f32,
      .bias = Arithmetic::Bias::f32}},
};

/// The field that belongs to the graph.
constexpr std::string_view kDot = "dot";

/// One field of the arithmetic: its name, its values' names in the order of the enum, and access.
struct Field {
  std::string_view name;
  std::vector<std::string_view> values;
  int (*get)(const Arithmetic&);
  void (*set)(Arithmetic&, int);
};

template <auto Member>
Field field(std::string_view name, std::vector<std::string_view> values) {
  using E = std::remove_cvref_t<decltype(std::declval<Arithmetic&>().*Member)>;
  return {name, std::move(values), [](const Arithmetic& a) { return static_cast<int>(a.*Member); },
          [](Arithmetic& a, int v) { a.*Member = static_cast<E>(v); }};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      field<&Arithmetic::quantize>("quantize", {"divide", "reciprocal"}),
      field<&Arithmetic::rescale>("rescale", {"f32", "q31"}),
      field<&Arithmetic::combine>("combine", {"exact", "onnxruntime", "f32"}),
      field<&Arithmetic::softmax>("softmax", {"f32", "onnxruntime"}),
      field<&Arithmetic::bias>("bias", {"i32", "f32"}),
      field<&Arithmetic::signed_codes>("signed", {"kept", "shifted", "f32"}),
  };
  return all;
}

template <class List, class Name>
std::string joined(const List& list, Name name) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + std::string(name(item));
  return out;
}

Result<Ok> override_field(Arithmetic& arithmetic, std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (name == kDot) {
    return error(
        Code::usage,
        "arithmetic '{}': dot is one choice for the whole model: give it with --arithmetic "
        "or in quantc.toml",
        word);
  }
  for (const Field& f : fields()) {
    if (f.name != name || equals == std::string_view::npos) continue;
    for (size_t i = 0; i < f.values.size(); ++i) {
      if (f.values[i] != word.substr(equals + 1)) continue;
      f.set(arithmetic, static_cast<int>(i));
      return Ok{};
    }
    return error(Code::usage, "arithmetic '{}': {} is one of {}{}", word, f.name,
                 joined(f.values, [](auto v) { return v; }),
                 did_you_mean(word.substr(equals + 1), {f.values.begin(), f.values.end()}));
  }
  std::vector<std::string> words;
  for (const Preset& p : kPresets) words.emplace_back(p.name);
  for (const Field& f : fields()) words.emplace_back(f.name);
  words.emplace_back(kDot);
  return error(Code::usage, "there is no arithmetic '{}': use {}, or FIELD=VALUE with {}, {}{}",
               word, joined(kPresets, [](const Preset& p) { return p.name; }),
               joined(fields(), [](const Field& f) { return f.name; }), kDot,
               did_you_mean(name, words));
}

/// Splits off what stands before the first comma.
std::string_view take_word(std::string_view& text) {
  const size_t comma = text.find(',');
  const std::string_view word = text.substr(0, comma);
  text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  return word;
}

}  // namespace

Result<Arithmetic> parse_arithmetic(std::string_view text) {
  Arithmetic arithmetic;
  for (bool first = true; !text.empty(); first = false) {
    const std::string_view word = take_word(text);
    const Preset* preset = nullptr;
    for (const Preset& p : kPresets) {
      if (first && p.name == word) preset = &p;
    }
    if (preset) {
      arithmetic = preset->arithmetic;
    } else {
      QC_TRY(override_field(arithmetic, word));
    }
  }
  return arithmetic;
}

std::string str(const Arithmetic& arithmetic) {
  std::string best;
  for (const Preset& p : kPresets) {
    std::string text(p.name);
    for (const Field& f : fields()) {
      if (f.get(p.arithmetic) == f.get(arithmetic)) continue;
      text += fmt::format(",{}={}", f.name, f.values[static_cast<size_t>(f.get(arithmetic))]);
    }
    if (best.empty() || text.size() < best.size()) best = text;
  }
  return best;
}

Result<ModelArithmetic> parse_model_arithmetic(std::string_view text) {
  ModelArithmetic out;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    if (word.substr(0, word.find('=')) != kDot) {
      out.quantized += (out.quantized.empty() ? "" : ",") + std::string(word);
      continue;
    }
    const std::string_view value = word.substr(std::min(kDot.size() + 1, word.size()));
    out.dot = dot_step_named(value);
    if (!out.dot) {
      return error(Code::usage, "arithmetic '{}': dot is one of fma, mul_add{}", word,
                   did_you_mean(value, {"fma", "mul_add"}));
    }
  }
  QC_TRY(parse_arithmetic(out.quantized));
  return out;
}

namespace {

Result<Ok> set_arithmetic_of_nodes(Graph& graph, std::string_view text) {
  QC_ASSIGN(const Arithmetic wanted, parse_arithmetic(text));
  for (Node* node = graph.first(); node; node = node->next()) {
    for (const auto& region : node->regions()) QC_TRY(set_arithmetic_of_nodes(*region, text));
    AttrMap attrs;  // all of them: those that are not named would get their defaults
    for (auto& [name, value] : get_attrs(*node)) attrs.emplace(name, std::move(value));
    const auto it = attrs.find("arithmetic");
    const auto* before = it == attrs.end() ? nullptr : std::get_if<std::string>(&it->second);
    if (!before) continue;
    QC_ASSIGN(const Arithmetic given, parse_arithmetic(*before));
    Arithmetic arithmetic = wanted;
    if (text.find("signed=") == std::string_view::npos &&
        arithmetic.combine == Arithmetic::Combine::onnxruntime &&
        given.combine == arithmetic.combine) {
      arithmetic.signed_codes = given.signed_codes;
    }
    it->second = str(arithmetic);
    QC_TRY(set_attrs(*node, attrs, node->loc()));
  }
  return Ok{};
}

}  // namespace

Result<Ok> set_arithmetic(Graph& graph, std::string_view text) {
  QC_ASSIGN(const ModelArithmetic wanted, parse_model_arithmetic(text));
  if (wanted.dot) graph.set_dot(*wanted.dot);
  return wanted.quantized.empty() ? Ok{} : set_arithmetic_of_nodes(graph, wanted.quantized);
}

std::vector<std::string_view> arithmetic_presets() {
  std::vector<std::string_view> out;
  for (const Preset& p : kPresets) out.push_back(p.name);
  return out;
}

}  // namespace qc
