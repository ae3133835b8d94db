// JSON as PyTorch writes it, read with simdjson. `Json` is a cursor whose accessors check what they
// find and name the key in the message.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace qc::pt2 {

class Json {
 public:
  Json(simdjson::dom::element element, std::string_view key, const Loc& loc)
      : element_(element), key_(key), loc_(&loc) {}

  /// A member of an object that must be there.
  Result<Json> at(std::string_view key) const;
  /// A member of an object; nothing when it is missing or null.
  std::optional<Json> find(std::string_view key) const;
  Result<simdjson::dom::array> array() const;
  Result<simdjson::dom::object> object() const;
  /// The only member of a union object.
  Result<Json> only_member() const;
  Result<std::string> text() const;
  Result<int64_t> integer() const;
  /// Also takes the strings "Infinity", "-Infinity" and "NaN".
  Result<double> real() const;
  Result<bool> boolean() const;

  /// The key this element was found under.
  std::string_view key() const { return key_; }
  /// The same place in messages, another element.
  Json with(simdjson::dom::element element) const { return {element, key_, *loc_}; }
  Json with(simdjson::dom::element element, std::string_view key) const {
    return {element, key, *loc_};
  }
  /// A diagnostic that names the key.
  Diag broken(std::string_view expected) const;

 private:
  simdjson::dom::element element_;
  std::string_view key_;
  const Loc* loc_;
};

/// A parsed document; elements taken from it are valid while it lives.
class JsonFile {
 public:
  /// Also accepts the bare Infinity, -Infinity and NaN tokens of Python's json module, which then
  /// read as the strings of the same spelling.
  Result<Json> parse(std::string_view text, const Loc& loc);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace qc::pt2
