#include "frontends/pt2/json.h"

#include <algorithm>
#include <limits>
#include <new>

namespace qc::pt2 {
namespace {

/// Puts quotes around Infinity, -Infinity and NaN where they stand outside of strings.
std::string quote_nonfinite(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      out.append(text.substr(begin, i - begin));
      continue;
    }
    bool replaced = false;
    for (std::string_view token : {"-Infinity", "Infinity", "NaN"}) {
      if (!text.substr(i).starts_with(token)) continue;
      out.append("\"").append(token).append("\"");
      i += token.size();
      replaced = true;
      break;
    }
    if (!replaced) out.push_back(text[i++]);
  }
  return out;
}

/// simdjson asks for the processor when it is first used, in a function that lets no exception out:
/// it does so before main, when no budget ends and memory is there.
[[maybe_unused]] const bool kDetected = !simdjson::get_active_implementation()->name().empty();

}  // namespace

Diag Json::broken(std::string_view expected) const {
  return error(Code::format, *loc_, "'{}' is not {}", key_, expected);
}

std::optional<Json> Json::find(std::string_view key) const {
  simdjson::dom::object object;
  simdjson::dom::element member;
  if (element_.get(object) != simdjson::SUCCESS ||
      object.at_key(key).get(member) != simdjson::SUCCESS || member.is_null()) {
    return std::nullopt;
  }
  return Json(member, key, *loc_);
}

Result<Json> Json::at(std::string_view key) const {
  auto member = find(key);
  if (!member) return error(Code::format, *loc_, "'{}' has no member '{}'", key_, key);
  return *member;
}

Result<simdjson::dom::array> Json::array() const {
  simdjson::dom::array value;
  if (element_.get(value) != simdjson::SUCCESS) return broken("a list");
  return value;
}

Result<simdjson::dom::object> Json::object() const {
  simdjson::dom::object value;
  if (element_.get(value) != simdjson::SUCCESS) return broken("an object");
  return value;
}

Result<Json> Json::only_member() const {
  QC_ASSIGN(auto members, object());
  if (members.size() != 1) return broken("a union with exactly one member");
  auto field = *members.begin();
  return Json(field.value, field.key, *loc_);
}

Result<std::string> Json::text() const {
  std::string_view value;
  if (element_.get(value) != simdjson::SUCCESS) return broken("a string");
  return std::string(value);
}

Result<int64_t> Json::integer() const {
  int64_t value;
  if (element_.get(value) != simdjson::SUCCESS) return broken("a 64-bit integer");
  return value;
}

Result<double> Json::real() const {
  double value;
  if (element_.get(value) == simdjson::SUCCESS) return value;
  std::string_view word;
  if (element_.get(word) == simdjson::SUCCESS) {
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  return broken("a number");
}

Result<bool> Json::boolean() const {
  bool value;
  if (element_.get(value) != simdjson::SUCCESS) return broken("true or false");
  return value;
}

Result<Json> JsonFile::parse(std::string_view text, const Loc& loc) {
  simdjson::dom::element root;
  auto code = parser_.parse(text.data(), text.size()).get(root);
  bool nonfinite = text.find("Infinity") != text.npos || text.find("NaN") != text.npos;
  if (code != simdjson::SUCCESS && nonfinite) {
    std::string quoted = quote_nonfinite(text);
    code = parser_.parse(quoted.data(), quoted.size()).get(root);
  }
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();  // what its allocations swallowed
  if (code != simdjson::SUCCESS) {
    return error(Code::format, loc, "not valid JSON: {}", simdjson::error_message(code));
  }
  return Json(root, "document", loc);
}

}  // namespace qc::pt2
