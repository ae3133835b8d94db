#include "frontends/pt2/guards.h"

#include <cctype>
#include <optional>
#include <string_view>

namespace qc::pt2 {
namespace {

constexpr size_t kMaxText = 1 << 14;

/// A number of one or two digits and the bracket behind it, taken off `text`.
std::optional<size_t> take_index(std::string_view& text) {
  const size_t end = text.find(']');
  if (end == text.npos || end == 0 || end > 2) return std::nullopt;
  size_t index = 0;
  for (char c : text.substr(0, end)) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  text.remove_prefix(end + 1);
  return index;
}

/// `L['x'][0]['Key']`, taken off `text`, as PyTorch names that input: "x_0_key".
std::optional<std::string> take_input(std::string_view& text) {
  std::string name;
  text.remove_prefix(1);
  while (text.starts_with("[")) {
    text.remove_prefix(1);
    if (!name.empty()) name += '_';
    if (!text.starts_with("'")) {
      const auto index = take_index(text);
      if (!index) return std::nullopt;
      name += std::to_string(*index);
      continue;
    }
    const size_t end = text.find("']", 1);
    if (end == text.npos) return std::nullopt;
    for (char c : text.substr(1, end - 1)) {
      const auto u = static_cast<unsigned char>(c);
      name += std::isalnum(u) ? static_cast<char>(std::tolower(u)) : '_';
    }
    text.remove_prefix(end + 2);
  }
  return name;
}

/// `L['x'].size()[1]` at the start of `text`, taken off it, as that dim; nullopt for anything else.
std::optional<Dim> take_size(std::string_view& text, const Graph& graph) {
  constexpr std::string_view kSize = ".size()[";
  const auto name = take_input(text);
  if (!name || !text.starts_with(kSize)) return std::nullopt;
  text.remove_prefix(kSize.size());
  const auto axis = take_index(text);
  if (!axis) return std::nullopt;
  for (const Value* input : graph.inputs()) {
    if (input->name() == *name && *axis < input->shape().size()) return input->shape()[*axis];
  }
  return std::nullopt;
}

/// The text with every size replaced by the dim it is; nullopt where it reads something else.
std::optional<std::string> with_dims(std::string_view text, const Graph& graph) {
  std::string out;
  while (!text.empty()) {
    if (out.size() > kMaxText) return std::nullopt;
    if (text.starts_with("L[")) {
      const std::optional<Dim> dim = take_size(text, graph);
      if (!dim) return std::nullopt;
      out += "(" + dim->str() + ")";
      continue;
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::optional<DimGuard> read_guard(const std::string& text, const Graph& graph) {
  const auto replaced = with_dims(text, graph);
  if (!replaced) return std::nullopt;
  auto parsed = DimGuard::parse(*replaced);
  return parsed.ok() ? std::optional(std::move(*parsed)) : std::nullopt;
}

}  // namespace

Result<Ok> add_guards(const std::vector<std::string>& texts, Graph& graph,
                      const ImportOptions& options) {
  for (const std::string& text : texts) {
    if (auto guard = read_guard(text, graph)) {
      graph.guards.push_back(std::move(*guard));
    } else if (options.remarks) {
      options.remarks->push_back("import: guard not checked: " + text);
    }
  }
  QC_TRY(graph.check_guards(options.dims));
  for (DimGuard& guard : graph.guards) guard = guard.substitute(options.dims);
  std::erase_if(graph.guards, [](const DimGuard& g) { return g.holds().has_value(); });
  return Ok{};
}

}  // namespace qc::pt2
