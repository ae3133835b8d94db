#include "driver/config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <filesystem>

#include "support/file.h"

namespace qc {

Result<quantc::Options> read_config(const std::string& path) {
  QC_ASSIGN(std::string text, read_text(path));
  toml::parse_result parsed = toml::parse(text);
  const Loc loc{path, {}, {}};
  if (!parsed) {
    return error(Code::format, loc, "line {}: {}", parsed.error().source().begin.line,
                 parsed.error().description());
  }
  quantc::Options out;
  auto wrong = [&](const toml::key& key, const toml::node& node, const char* expected) {
    return error(Code::usage, loc, "line {}: '{}' must be {}", node.source().begin.line, key.str(),
                 expected);
  };
  for (const auto& [key, node] : static_cast<const toml::table&>(parsed.table())) {
    auto text_option = [&](std::string& member) -> Result<Ok> {
      auto value = node.value<std::string>();
      if (!value || !node.is_string()) return wrong(key, node, "a string");
      member = *value;
      return Ok{};
    };
    auto flag_option = [&](bool& member) -> Result<Ok> {
      if (!node.is_boolean()) return wrong(key, node, "true or false");
      member = *node.value<bool>();
      return Ok{};
    };
    if (key == "name")
      QC_TRY(text_option(out.name));
    else if (key == "target")
      QC_TRY(text_option(out.target));
    else if (key == "weights")
      QC_TRY(text_option(out.weights));
    else if (key == "specialise")
      QC_TRY(text_option(out.specialise));
    else if (key == "stop_after")
      QC_TRY(text_option(out.stop_after));
    else if (key == "rules") {
      QC_TRY(text_option(out.rules_file));
      out.rules_file = (std::filesystem::path(path).parent_path() / out.rules_file).string();
    } else if (key == "arithmetic")
      QC_TRY(text_option(out.arithmetic));
    else if (key == "io_dtype")
      QC_TRY(text_option(out.io_dtype));
    else if (key == "level") {
      if (!node.is_integer()) return wrong(key, node, "an integer from 0 to 3");
      out.level = static_cast<int>(*node.value<int64_t>());
    } else if (key == "verify") {
      QC_TRY(flag_option(out.verify));
    } else if (key == "allow_unused_rules") {
      QC_TRY(flag_option(out.allow_unused_rules));
    } else if (key == "require_integer") {
      QC_TRY(flag_option(out.require_integer));
    } else if (key == "disabled_passes") {
      const toml::array* list = node.as_array();
      if (!list || !list->is_homogeneous(toml::node_type::string))
        return wrong(key, node, "a list of strings");
      for (const toml::node& item : *list)
        out.disabled_passes.push_back(*item.value<std::string>());
    } else if (key == "dims") {
      const toml::table* table = node.as_table();
      if (!table) return wrong(key, node, "a table of sizes");
      for (const auto& [symbol, size] : *table) {
        if (!size.is_integer()) return wrong(symbol, size, "an integer");
        out.dims[std::string(symbol.str())] = *size.value<int64_t>();
      }
    } else {
      return error(
          Code::usage, loc,
          "line {}: unknown option '{}' (known: name, target, level, dims, weights, specialise, "
          "disabled_passes, stop_after, verify, rules, arithmetic, io_dtype, allow_unused_rules, "
          "require_integer)",
          key.source().begin.line, key.str());
    }
  }
  return out;
}

}  // namespace qc
