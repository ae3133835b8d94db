#include "frontends/pt2/guards.h"

#include <optional>
#include <string_view>

namespace qc::pt2 {
namespace {

constexpr size_t kMaxText = 1 << 14;

/// `L['x'].size()[1]` at the start of `text`, taken off it, as that dim; nullopt for anything else.
std::optional<Dim> take_size(std::string_view& text, const Graph& graph) {
  constexpr std::string_view kOpen = "L['", kSize = "'].size()[";
  const size_t close = text.find(kSize);
  if (!text.starts_with(kOpen) || close == text.npos) return std::nullopt;
  const std::string_view name = text.substr(kOpen.size(), close - kOpen.size());
  std::string_view rest = text.substr(close + kSize.size());
  const size_t end = rest.find(']');
  if (end == rest.npos || end == 0 || end > 2) return std::nullopt;
  size_t axis = 0;
  for (char c : rest.substr(0, end)) {
    if (c < '0' || c > '9') return std::nullopt;
    axis = axis * 10 + static_cast<size_t>(c - '0');
  }
  for (const Value* input : graph.inputs()) {
    if (input->name() != name || axis >= input->shape().size()) continue;
    text = rest.substr(end + 1);
    return input->shape()[axis];
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

}  // namespace

std::vector<DimGuard> read_guards(const std::vector<std::string>& texts, const Graph& graph) {
  std::vector<DimGuard> out;
  for (const std::string& text : texts) {
    const auto replaced = with_dims(text, graph);
    if (!replaced) continue;
    if (auto guard = DimGuard::parse(*replaced); guard.ok()) out.push_back(std::move(*guard));
  }
  return out;
}

}  // namespace qc::pt2
