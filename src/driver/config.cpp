#include "driver/config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

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
    else if (key == "level") {
      if (!node.is_integer()) return wrong(key, node, "an integer from 0 to 3");
      out.level = static_cast<int>(*node.value<int64_t>());
    } else if (key == "verify") {
      if (!node.is_boolean()) return wrong(key, node, "true or false");
      out.verify = *node.value<bool>();
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
          "disabled_passes, stop_after, verify)",
          key.source().begin.line, key.str());
    }
  }
  return out;
}

}  // namespace qc
