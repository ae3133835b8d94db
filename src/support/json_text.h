// Writing JSON: values as text, put together by who knows what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qc {

/// Nine digits; null for what is no finite number, which JSON cannot say.
std::string json_number(double value);
std::string json_number(int64_t value);
std::string json_bool(bool value);
/// Strings, as an array of strings.
std::string json_strings(const std::vector<std::string>& texts);
/// Values that are JSON already; `lines` gives each one a line of its own.
std::string json_array(const std::vector<std::string>& values, bool lines = false);

/// An object whose members come one after another. Values are JSON already; an empty one is left
/// out.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, const std::string& value);
  /// Each member on a line of its own.
  std::string lines() const;
  std::string line() const;

 private:
  std::vector<std::string> members_;
};

}  // namespace qc
