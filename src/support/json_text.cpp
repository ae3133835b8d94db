#include "support/json_text.h"

#include <fmt/format.h>

#include <cmath>

#include "support/escape.h"

namespace qc {

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

std::string json_number(int64_t value) { return fmt::format("{}", value); }

std::string json_bool(bool value) { return value ? "true" : "false"; }

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) values.push_back(json_string(text));
  return json_array(values);
}

std::string json_array(const std::vector<std::string>& values, bool lines) {
  if (!lines || values.empty()) return fmt::format("[{}]", fmt::join(values, ", "));
  return fmt::format("[\n  {}\n]", fmt::join(values, ",\n  "));
}

JsonObject& JsonObject::add(std::string_view name, const std::string& value) {
  if (!value.empty()) members_.push_back(json_string(name) + ": " + value);
  return *this;
}

std::string JsonObject::lines() const {
  return fmt::format("{{{}}}\n", fmt::join(members_, ",\n"));
}

std::string JsonObject::line() const { return fmt::format("{{{}}}", fmt::join(members_, ", ")); }

}  // namespace qc
