#include "driver/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "driver/compile.h"
#include "support/file.h"
#include "support/suggest.h"
#include "support/toml.h"

namespace qc {
namespace {

/// One key of the configuration: what it must hold, and how it is read (false: it holds something
/// else).
struct Key {
  const char* name;
  const char* expected;
  bool (*read)(const toml::node& node, quantc::Options& out);
};

template <auto member, class T>
bool read_scalar(const toml::node& node, quantc::Options& out) {
  if (!node.is<T>()) return false;
  out.*member = *node.value<T>();
  return true;
}

bool read_level(const toml::node& node, quantc::Options& out) {
  const auto level = node.is_integer() ? node.value<int>() : std::nullopt;
  if (!level || *level < 0 || *level > 2) return false;
  out.level = *level;
  return true;
}

bool read_budget(const toml::node& node, quantc::Options& out) {
  if (!node.is_integer() || *node.value<int64_t>() < 1) return false;
  out.budget = *node.value<int64_t>();
  return true;
}

template <auto member>
bool read_list(const toml::node& node, quantc::Options& out) {
  const toml::array* list = node.as_array();
  if (!list || !list->is_homogeneous(toml::node_type::string)) return false;
  for (const toml::node& item : *list) (out.*member).push_back(*item.value<std::string>());
  return true;
}

bool read_dims(const toml::node& node, quantc::Options& out) {
  const toml::table* table = node.as_table();
  if (!table) return false;
  for (const auto& [symbol, size] : *table) {
    const auto text =
        size.is_integer() ? std::to_string(*size.value<int64_t>()) : size.value_or<std::string>("");
    const auto sizes = read_sizes(text);
    if (!sizes) return false;
    set_sizes(out, std::string(symbol.str()), *sizes);
  }
  return true;
}

bool read_shapes(const toml::node& node, quantc::Options& out) {
  const toml::table* table = node.as_table();
  if (!table) return false;
  for (const auto& [input, shape] : *table) {
    const toml::array* sizes = shape.as_array();
    if (!sizes || !sizes->is_homogeneous(toml::node_type::integer)) return false;
    std::vector<int64_t>& to = out.shapes[std::string(input.str())];
    for (const toml::node& size : *sizes) to.push_back(*size.value<int64_t>());
  }
  return true;
}

bool read_constants(const toml::node& node, quantc::Options& out) {
  const toml::table* table = node.as_table();
  if (!table) return false;
  for (const auto& [input, value] : *table) {
    std::string& to = out.constants[std::string(input.str())];
    if (value.is_string()) {
      to = *value.value<std::string>();
    } else if (value.is_number()) {
      to = fmt::format("{}", *value.value<double>());
    } else {
      return false;
    }
  }
  return true;
}

template <auto member>
constexpr Key text(const char* name) {
  return {name, "a string", read_scalar<member, std::string>};
}
template <auto member>
constexpr Key flag(const char* name) {
  return {name, "true or false", read_scalar<member, bool>};
}

using O = quantc::Options;
constexpr Key kKeys[] = {
    text<&O::name>("name"),
    text<&O::target>("target"),
    {"level", "an integer from 0 to 2", read_level},
    {"dims", "a table of integers or \"MIN..MAX\"", read_dims},
    {"shapes", "a table of lists of integers", read_shapes},
    {"constants", "a table of numbers or file names", read_constants},
    text<&O::weights>("weights"),
    text<&O::specialise>("specialise"),
    text<&O::plan>("plan"),
    flag<&O::single_file>("single_file"),
    text<&O::state>("state"),
    {"disabled_passes", "a list of strings", read_list<&O::disabled_passes>},
    {"kernels", "a list of strings", read_list<&O::kernels>},
    text<&O::stop_after>("stop_after"),
    flag<&O::threads>("threads"),
    flag<&O::check_indices>("check_indices"),
    flag<&O::allow_host>("allow_host"),
    flag<&O::verify>("verify"),
    text<&O::rules_file>("rules"),
    text<&O::arithmetic>("arithmetic"),
    text<&O::io_dtype>("io_dtype"),
    flag<&O::allow_unused_rules>("allow_unused_rules"),
    flag<&O::require_integer>("require_integer"),
    flag<&O::no_float>("no_float"),
    {"budget", "an integer of 1 or more", read_budget},
};

std::vector<std::string> known_keys() {
  std::vector<std::string> out;
  for (const Key& key : kKeys) out.emplace_back(key.name);
  return out;
}

}  // namespace

Result<quantc::Options> read_config(const std::string& path) {
  QC_ASSIGN(std::string text, read_text(path));
  const Loc loc{path, {}, {}};
  QC_TRY(check_toml_depth(text, loc));
  const TomlText parsed = parse_toml(text);
  if (!parsed.wrong.empty()) {
    return error(Code::format, loc, "{}{}",
                 parsed.line > 0 ? fmt::format("line {}: ", parsed.line) : "", parsed.wrong);
  }
  quantc::Options out;
  for (const auto& [name, node] : parsed.table) {
    const std::string_view wanted = name.str();
    const Key* key = std::ranges::find(kKeys, wanted, &Key::name);
    if (key == std::end(kKeys)) {
      return error(Code::usage, loc, "line {}: unknown option '{}' (known: {}){}",
                   name.source().begin.line, wanted, fmt::join(known_keys(), ", "),
                   did_you_mean(wanted, known_keys()));
    }
    if (!key->read(node, out)) {
      return error(Code::usage, loc, "line {}: '{}' must be {}", node.source().begin.line, wanted,
                   key->expected);
    }
    quantc::Options alone;  // with nothing else, so that it is this value that is wrong
    key->read(node, alone);
    if (const auto checked = check(alone); !checked.ok()) {
      return error(Code::usage, loc, "line {}: {}", node.source().begin.line, checked.diag().text);
    }
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!out.rules_file.empty()) out.rules_file = (folder / out.rules_file).string();
  for (auto& [input, value] : out.constants) {
    if (value.ends_with(".npy") || value.ends_with(".npz") || value.ends_with(".pb"))
      value = (folder / value).string();
  }
  return out;
}

namespace {

constexpr int64_t kChosenBuckets = 4;

std::optional<int64_t> number(std::string_view digits) {
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, bad] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || bad != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// Buckets that each are `factor` times the one before, from 1 on.
void add_growing(double factor, quantc::SizeRange& out) {
  for (int64_t size = 1; size < out.max && size <= INT32_MAX;) {
    if (size >= out.min) out.buckets.push_back(size);
    size = std::max(size + 1, static_cast<int64_t>(std::ceil(static_cast<double>(size) * factor)));
  }
  out.buckets.push_back(out.max);
}

/// A number with a point between 1.1 and 16.
std::optional<double> growth(std::string_view digits) {
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, bad] = std::from_chars(digits.data(), end, value);
  if (digits.find('.') == digits.npos || bad != std::errc() || stop != end) return std::nullopt;
  return value >= 1.1 && value <= 16 ? std::optional(value) : std::nullopt;
}

/// What stands after "MIN..MAX:buckets".
bool read_buckets(std::string_view text, quantc::SizeRange& out) {
  constexpr std::string_view kOwnSize = ":own-size";
  if (text.ends_with(kOwnSize)) {
    out.own_size = true;
    text.remove_suffix(kOwnSize.size());
  }
  if (text.empty()) {
    add_growing(2, out);
    return true;
  }
  if (!text.starts_with('=')) return false;
  text.remove_prefix(1);
  if (const auto factor = growth(text)) {
    add_growing(*factor, out);
    return true;
  }
  if (text.starts_with("auto")) {  // check_buckets asks for a file where none is named
    const size_t at = std::min(text.find('@'), text.size());
    const std::string_view count = text.substr(4, at - 4);
    const auto given = count.starts_with(',') ? number(count.substr(1)) : std::nullopt;
    if (!count.empty() && !given) return false;
    out.chosen_buckets = given.value_or(kChosenBuckets);
    out.observed = text.substr(std::min(at + 1, text.size()));
    return true;
  }
  for (size_t at = 0; at != text.npos;) {
    const size_t comma = text.find(',', at);
    const auto size = number(text.substr(at, comma == text.npos ? comma : comma - at));
    if (!size) return false;
    out.buckets.push_back(*size);
    at = comma == text.npos ? comma : comma + 1;
  }
  return true;
}

}  // namespace

std::optional<quantc::SizeRange> read_sizes(std::string_view text) {
  const size_t dots = text.find("..");
  const auto min = number(text.substr(0, dots));
  if (dots == text.npos)
    return min ? std::optional(quantc::SizeRange{*min, *min, 1, {}, 0, {}}) : std::nullopt;
  constexpr std::string_view kBuckets = ":buckets";
  const size_t buckets = text.find(kBuckets);
  const std::string_view rest = text.substr(0, buckets).substr(std::min(dots + 2, buckets));
  const size_t colon = rest.find(':');
  const auto max = number(rest.substr(0, colon));
  const auto step = colon == rest.npos ? std::optional<int64_t>(1) : number(rest.substr(colon + 1));
  if (!min || !max || !step) return std::nullopt;
  quantc::SizeRange out{*min, *max, *step, {}, 0, {}};
  const bool is_read =
      buckets == text.npos || read_buckets(text.substr(buckets + kBuckets.size()), out);
  return is_read ? std::optional(out) : std::nullopt;
}

void set_sizes(quantc::Options& options, const std::string& name, const quantc::SizeRange& sizes) {
  options.dims.erase(name);
  options.ranges.erase(name);
  if (sizes.min == sizes.max && sizes.buckets.empty())
    options.dims[name] = sizes.min;
  else
    options.ranges[name] = sizes;
}

}  // namespace qc
