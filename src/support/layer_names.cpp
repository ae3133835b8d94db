#include "support/layer_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "support/escape.h"

namespace qc {
namespace {

/// How many characters of the name are its path: all up to the last separator.
size_t path_length(std::string_view name) {
  const size_t at = name.find_last_of("./");
  return at == std::string_view::npos ? 0 : at + 1;
}

size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

/// The path that all names with a path begin with; nothing where one layer alone has one.
std::string common_path(const std::vector<std::vector<std::string>>& all) {
  std::optional<std::string_view> common;
  bool several = false;
  for (const std::vector<std::string>& names : all) {
    for (const std::string& name : names) {
      const size_t length = path_length(name);
      if (length == 0) continue;
      const std::string_view path = std::string_view(name).substr(0, length);
      several = several || (common && &names != &all.front());
      common = common ? common->substr(0, common_length(*common, path)) : path;
    }
  }
  return several ? std::string(common->substr(0, path_length(*common))) : "";
}

}  // namespace

LayerNames::LayerNames(const std::vector<std::vector<std::string>>& all, bool cut)
    : cut_(cut), path_(cut ? common_path(all) : "") {}

std::string LayerNames::of(const std::vector<std::string>& names) const {
  if (!cut_) return shown(fmt::format("{}", fmt::join(names, "+")));
  std::string out;
  std::string_view own;  // the path of the first name
  for (size_t i = 0; i < names.size(); ++i) {
    std::string_view name = names[i];
    if (i > 0 && !own.empty() && name.starts_with(own)) {
      name.remove_prefix(own.size());
    } else if (name.starts_with(path_)) {
      name.remove_prefix(path_.size());
    }
    if (i == 0) own = std::string_view(names[0]).substr(0, path_length(names[0]));
    out += (i > 0 ? "+" : "") + std::string(name);
  }
  return shown(out);
}

std::string LayerNames::note() const {
  return path_.empty() ? "" : fmt::format("names are without '{}'\n", shown(path_));
}

std::string name_lines(const std::string& name, size_t width) {
  std::string out, line;
  for (size_t from = 0; from < name.size();) {
    const size_t end = std::min(name.find_first_of("+;", from), name.size() - 1) + 1;
    if (!line.empty() && line.size() + end - from > width) {
      out += line + "\n";
      line.clear();
    }
    line += name.substr(from, end - from);
    from = end;
  }
  return out + line + "\n";
}

}  // namespace qc
