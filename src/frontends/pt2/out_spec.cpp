#include "frontends/pt2/out_spec.h"

#include <fmt/format.h>

#include "frontends/pt2/json.h"

namespace qc::pt2 {
namespace {

constexpr int kMaxDepth = 16;

/// A key of a tree: a text or a number.
Result<std::string> key_text(const Json& json) {
  if (auto text = json.text(); text.ok()) return text;
  QC_ASSIGN(const int64_t number, json.integer());
  return std::to_string(number);
}

Result<std::vector<std::string>> key_list(const Json& json) {
  QC_ASSIGN(const auto array, json.array());
  std::vector<std::string> out;
  for (const auto element : array) {
    QC_ASSIGN(std::string key, key_text(json.with(element)));
    out.push_back(std::move(key));
  }
  return out;
}

/// The keys of `count` children; nothing where they have none. A context is a list of keys, or of
/// a list of them and more (data classes).
std::vector<std::string> keys_of(const std::string& context, size_t count, const Loc& loc) {
  JsonFile file;
  const auto json = file.parse(context, loc);
  if (!json.ok()) return {};
  auto keys = key_list(*json);
  if (!keys.ok()) {
    const auto parts = json->array();
    if (!parts.ok() || parts->size() == 0) return {};
    keys = key_list(json->with(parts->at(0)));
  }
  return keys.ok() && keys->size() == count ? *keys : std::vector<std::string>();
}

Result<Ok> add_leaves(const Json& tree, const std::string& path, int depth, const Loc& loc,
                      std::vector<std::string>& out) {
  if (depth > kMaxDepth) return tree.broken("a tree of outputs: it is nested too deeply");
  if (!tree.find("type")) {
    out.push_back(path);
    return Ok{};
  }
  QC_ASSIGN(const Json list, tree.at("children_spec"));
  QC_ASSIGN(const auto children, list.array());
  std::string context;
  if (const auto found = tree.find("context")) {
    QC_ASSIGN(context, found->text());
  }
  const std::vector<std::string> keys = keys_of(context, children.size(), loc);
  for (size_t i = 0; i < children.size(); ++i) {
    std::string below = path;
    if (!keys.empty() || !path.empty())
      below += (path.empty() ? "" : "_") + (keys.empty() ? std::to_string(i) : keys[i]);
    QC_TRY(add_leaves(list.with(children.at(i)), below, depth + 1, loc, out));
  }
  return Ok{};
}

}  // namespace

std::vector<std::string> output_names(std::string_view spec, const Loc& loc) {
  JsonFile file;
  const auto json = file.parse(spec, loc);
  if (!json.ok()) return {};
  const auto parts = json->array();  // the version of the form, the tree
  std::vector<std::string> out;
  if (!parts.ok() || parts->size() != 2 ||
      !add_leaves(json->with(parts->at(1)), "", 0, loc, out).ok())
    return {};
  return out;
}

}  // namespace qc::pt2
