#include "quant/rule_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <ranges>
#include <variant>

#include "arrays/npz.h"
#include "quant/rules.h"
#include "support/escape.h"
#include "support/file.h"
#include "support/suggest.h"
#include "support/toml.h"

namespace qc {
namespace {

enum Kinds : unsigned { kStatic = 1, kDynamic = 2, kWeightOnly = 4, kFloat = 8, kAll = 15 };
constexpr unsigned kWeights = kStatic | kDynamic | kWeightOnly;

using Member = std::variant<std::string RuleSpec::*, bool RuleSpec::*,
                            std::optional<bool> RuleSpec::*, std::optional<int64_t> RuleSpec::*,
                            std::vector<double> RuleSpec::*, std::vector<int64_t> RuleSpec::*>;

struct Key {
  const char* name;
  unsigned kinds;  // of rules the key means something for
  Member member;
};

const Key kKeys[] = {
    {"pattern", kAll, &RuleSpec::pattern},
    {"exclude", kAll, &RuleSpec::exclude},
    {"op", kAll, &RuleSpec::op},
    {"kind", kAll, &RuleSpec::kind},
    {"dtype", kAll, &RuleSpec::dtype},
    {"scale", kStatic, &RuleSpec::scale},
    {"offset", kStatic, &RuleSpec::offset},
    {"min", kStatic, &RuleSpec::min},
    {"max", kStatic, &RuleSpec::max},
    {"qmin", kStatic, &RuleSpec::qmin},
    {"qmax", kStatic, &RuleSpec::qmax},
    {"output_dtype", kStatic, &RuleSpec::output_dtype},
    {"input_dtype", kStatic, &RuleSpec::input_dtype},
    {"input_scale", kStatic, &RuleSpec::input_scale},
    {"input_offset", kStatic, &RuleSpec::input_offset},
    {"input_min", kStatic, &RuleSpec::input_min},
    {"input_max", kStatic, &RuleSpec::input_max},
    {"weight_dtype", kWeights, &RuleSpec::weight_dtype},
    {"weight_scale", kWeights, &RuleSpec::weight_scale},
    {"weight_offset", kWeights, &RuleSpec::weight_offset},
    {"weight_qmin", kWeights, &RuleSpec::weight_qmin},
    {"weight_qmax", kWeights, &RuleSpec::weight_qmax},
    {"per_channel", kWeights, &RuleSpec::per_channel},
    {"group", kWeights, &RuleSpec::group},
    {"weight_zero_points", kWeights, &RuleSpec::weight_zero_points},
    {"output_multiplier", kStatic, &RuleSpec::output_multiplier},
    {"input_multiplier", kStatic, &RuleSpec::input_multiplier},
    {"bias_correction", kStatic, &RuleSpec::bias_correction},
    {"per_token", kDynamic, &RuleSpec::per_token},
    {"symmetric", kDynamic, &RuleSpec::symmetric},
    {"attention", kStatic | kDynamic, &RuleSpec::attention},
    {"arithmetic", kAll, &RuleSpec::arithmetic},
    {"skip_unsupported", kAll, &RuleSpec::skip_unsupported},
};

bool holds_numbers(const Key& key) { return key.member.index() >= 4; }

template <class T>
std::vector<T> elements(const Tensor& tensor, T (Tensor::*get)(int64_t) const) {
  std::vector<T> out;
  for (int64_t i = 0; i < tensor.size(); ++i) out.push_back((tensor.*get)(i));
  return out;
}

std::vector<std::string> known_keys() {
  std::vector<std::string> out;
  for (const Key& k : kKeys) {
    out.emplace_back(k.name);
    if (holds_numbers(k)) out.push_back(std::string(k.name) + "_file");
  }
  return out;
}

unsigned kind_bit(const RuleSpec& s) {
  if (s.dtype == "float32" || s.kind == "float") return kFloat;
  if (s.kind == "dynamic") return kDynamic;
  if (s.kind == "weight_only") return kWeightOnly;
  return s.kind.empty() || s.kind == "static" ? kStatic : kAll;  // what is unknown is said later
}

class Reader {
 public:
  Reader(std::string path, Missing missing) : path_(std::move(path)), missing_(missing) {}

  Result<std::vector<RuleSpec>> read(const toml::table& file) {
    RuleSpec base;
    const toml::table* fallback = nullptr;
    for (const auto& [key, node] : file) {
      if (key == "default") {
        fallback = node.as_table();
        if (!fallback) return wrong(node, "'default' must be a table: [default]");
      } else if (key == "rule") {
        if (!node.is_array_of_tables()) return wrong(node, "'rule' must be tables: [[rule]]");
      } else {
        return wrong(key.source(), "unknown key '{}' (known: [default], [[rule]])", key.str());
      }
    }
    if (fallback) {
      QC_ASSIGN(base, rule(*fallback, RuleSpec{}, true));
    }
    RuleSpec inherited = base;
    inherited.pattern = inherited.exclude = inherited.op = "";
    std::vector<RuleSpec> out;
    if (const toml::array* rules = file["rule"].as_array()) {
      for (const toml::node& node : *rules) {
        QC_ASSIGN(RuleSpec spec, rule(*node.as_table(), inherited, false));
        out.push_back(std::move(spec));
      }
    }
    if (fallback && (!base.pattern.empty() || !base.op.empty())) {
      QC_TRY(check(base, *fallback));
      out.push_back(std::move(base));
    }
    return out;
  }

 private:
  template <class... Args>
  Diag wrong(const toml::source_region& at, fmt::format_string<Args...> text, Args&&... args) {
    return error(Code::rule, Loc{origin(at), {}, {}}, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  Diag wrong(const toml::node& at, fmt::format_string<Args...> text, Args&&... args) {
    return error(Code::rule, Loc{origin(at.source()), {}, {}}, text, std::forward<Args>(args)...);
  }
  std::string origin(const toml::source_region& at) const {
    return fmt::format("{}:{}", path_, at.begin.line);
  }

  Result<RuleSpec> rule(const toml::table& table, RuleSpec spec, bool is_default) {
    spec.origin = origin(table.source());
    for (const auto& [key, node] : table) QC_TRY(read_key(key, node, table, spec));
    if (is_default) return spec;
    for (const Key& k : kKeys) {
      const toml::node* node = table.get(k.name);
      if (node && !(k.kinds & kind_bit(spec))) {
        return wrong(*node, "'{}' means nothing for a rule of kind {}", k.name,
                     kind_bit(spec) == kFloat ? "float"
                     : spec.kind.empty()      ? "static"
                                              : spec.kind);
      }
    }
    if (spec.pattern.empty() && spec.op.empty()) {
      return wrong(table, "a rule needs a 'pattern' or an 'op'");
    }
    QC_TRY(check(spec, table));
    return spec;
  }

  /// Problems are reported at the line of the key where the rule has it.
  Result<Ok> check(const RuleSpec& spec, const toml::table& table) {
    const auto found = problem_of(spec, missing_);
    if (!found) return Ok{};
    const toml::node* node = table.get(found->key);
    if (!node) node = table.get(found->key + "_file");
    return wrong(node ? *node : table, "{}: {}", found->key, found->text);
  }

  Result<Ok> read_key(const toml::key& key, const toml::node& node, const toml::table& table,
                      RuleSpec& spec) {
    const std::string name(key.str());
    for (const Key& k : kKeys) {
      if (name == k.name) {
        return std::visit([&](auto member) { return store(k, node, spec.*member); }, k.member);
      }
      if (holds_numbers(k) && name == std::string(k.name) + "_file") {
        if (table.contains(k.name)) {
          return wrong(node, "'{}' is given too: use one of both", k.name);
        }
        QC_ASSIGN(const Tensor numbers, from_file(k, node));
        if (auto* reals = std::get_if<std::vector<double> RuleSpec::*>(&k.member)) {
          spec.** reals = elements(numbers, &Tensor::as_double);
        } else if (auto* ints = std::get_if<std::vector<int64_t> RuleSpec::*>(&k.member)) {
          spec.** ints = elements(numbers, &Tensor::as_int);
        }
        return Ok{};
      }
    }
    return wrong(key.source(), "unknown key '{}' (known: {}){}", name,
                 fmt::join(known_keys(), ", "), did_you_mean(name, known_keys()));
  }

  Result<Ok> store(const Key& k, const toml::node& node, std::string& out) {
    if (!node.is_string()) return wrong(node, "'{}' must be a string", k.name);
    out = *node.value<std::string>();
    return Ok{};
  }
  Result<Ok> store(const Key& k, const toml::node& node, bool& out) {
    if (!node.is_boolean()) return wrong(node, "'{}' must be true or false", k.name);
    out = *node.value<bool>();
    return Ok{};
  }
  Result<Ok> store(const Key& k, const toml::node& node, std::optional<bool>& out) {
    bool value = false;
    QC_TRY(store(k, node, value));
    out = value;
    return Ok{};
  }
  Result<Ok> store(const Key& k, const toml::node& node, std::optional<int64_t>& out) {
    if (!node.is_integer()) return wrong(node, "'{}' must be an integer", k.name);
    out = *node.value<int64_t>();
    return Ok{};
  }
  template <class T>
  Result<Ok> store(const Key& k, const toml::node& node, std::vector<T>& out) {
    constexpr bool kIntegers = std::is_same_v<T, int64_t>;
    auto add = [&](const toml::node& item) -> Result<Ok> {
      if (!(kIntegers ? item.is_integer() : item.is_number())) {
        return wrong(item, "'{}' must be {} or a list of them", k.name,
                     kIntegers ? "an integer" : "a number");
      }
      out.push_back(*item.value<T>());
      return Ok{};
    };
    out.clear();
    const toml::array* items = node.as_array();
    if (!items) return add(node);
    if (items->empty()) return wrong(node, "'{}' is an empty list", k.name);
    for (const toml::node& item : *items) QC_TRY(add(item));
    return Ok{};
  }

  /// The path of a file in the rule file's folder or below it.
  Result<std::string> beside(const std::string& file, const toml::node& node) {
    namespace fs = std::filesystem;
    std::error_code ec;
    const fs::path folder = fs::absolute(path_, ec).parent_path();
    const fs::path root = ec ? fs::path() : fs::weakly_canonical(folder, ec);
    const fs::path target = ec ? fs::path() : fs::weakly_canonical(folder / file, ec);
    const fs::path relative = target.lexically_relative(root);
    if (ec || fs::path(file).is_absolute() || relative.empty() || *relative.begin() == "..") {
      return error(Code::path, Loc{origin(node.source()), {}, {}},
                   "'{}' is not in the folder of the rule file", file);
    }
    return target.string();
  }

  /// "x.npz:name", beside the rule file.
  Result<Tensor> from_file(const Key& k, const toml::node& node) {
    std::string text;
    QC_TRY(store(k, node, text));
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return wrong(node, "'{}_file' is '{}': it must be 'file.npz:name'", k.name, text);
    }
    const std::string file = text.substr(0, colon), name = text.substr(colon + 1);
    auto [it, fresh] = archives_.try_emplace(file);
    if (fresh) {
      QC_ASSIGN(const std::string point, beside(file, node));
      auto arrays = read_npz(point);
      if (!arrays.ok()) return wrong(node, "'{}_file': {}", k.name, arrays.diag().text);
      for (NamedArray& a : *arrays) it->second.try_emplace(a.name, std::move(a.tensor));
    }
    const auto found = it->second.find(name);
    if (found == it->second.end()) {
      return wrong(node, "'{}' has no array '{}' (it has: {})", file, name,
                   fmt::join(std::views::keys(it->second), ", "));
    }
    if (found->second.size() == 0) return wrong(node, "'{}' of '{}' is empty", name, file);
    return found->second;
  }

  std::string path_;
  Missing missing_;
  std::map<std::string, std::map<std::string, Tensor>> archives_;  // by file and name
};

/// The shortest text that reads as the same f32.
std::string number(double value) { return fmt::format("{}", static_cast<float>(value)); }
std::string number(int64_t value) { return std::to_string(value); }

template <class T>
std::string number_list(const std::vector<T>& values) {
  if (values.size() == 1) return number(values[0]);
  std::string out;
  for (const T& v : values) out += (out.empty() ? "" : ", ") + number(v);
  return "[" + out + "]";
}

std::string text_of(const std::string& v) { return v.empty() ? "" : toml_string(v); }
std::string text_of(bool v) { return v ? "true" : ""; }
std::string text_of(const std::optional<bool>& v) { return !v ? "" : *v ? "true" : "false"; }
std::string text_of(const std::optional<int64_t>& v) { return v ? std::to_string(*v) : ""; }
template <class T>
std::string text_of(const std::vector<T>& v) {
  return v.empty() ? "" : number_list(v);
}

}  // namespace

std::string rule_keys(const RuleSpec& spec, const std::string& archive,
                      std::vector<NamedArray>& arrays) {
  constexpr size_t kInline = 8;  // longer lists go to the archive
  std::string out;
  for (const Key& k : kKeys) {
    const auto* reals = std::get_if<std::vector<double> RuleSpec::*>(&k.member);
    if (reals && (spec.**reals).size() > kInline) {
      const std::vector<float> values((spec.**reals).begin(), (spec.**reals).end());
      const std::string name = fmt::format("{}_{}", k.name, arrays.size());
      arrays.push_back({name, Tensor::of<float>(DType::f32, {static_cast<int64_t>(values.size())},
                                                std::span<const float>(values))});
      out += fmt::format("{}_file = {}\n", k.name, toml_string(archive + ":" + name));
      continue;
    }
    const std::string text =
        std::visit([&](auto member) { return text_of(spec.*member); }, k.member);
    if (!text.empty()) out += fmt::format("{} = {}\n", k.name, text);
  }
  return out;
}

Result<std::vector<RuleSpec>> parse_rules(const std::string& text, const std::string& path,
                                          Missing missing) {
  QC_TRY(check_toml_depth(text, Loc{path, {}, {}}));
  const TomlText parsed = parse_toml(text);
  if (!parsed.wrong.empty()) {
    const std::string at = parsed.line > 0 ? fmt::format("{}:{}", path, parsed.line) : path;
    return error(Code::rule, Loc{at, {}, {}}, "{}", parsed.wrong);
  }
  QC_ASSIGN(std::vector<RuleSpec> out, Reader(path, missing).read(parsed.table));
  const bool calibrated = text.starts_with(kCalibrationMark) ||
                          text.find("\n" + std::string(kCalibrationMark)) != text.npos;
  for (RuleSpec& rule : out) rule.calibrated = calibrated;
  return out;
}

Result<std::vector<RuleSpec>> read_rules(const std::string& path, Missing missing) {
  QC_ASSIGN(const std::string text, read_text(path));
  return parse_rules(text, path, missing);
}

}  // namespace qc
