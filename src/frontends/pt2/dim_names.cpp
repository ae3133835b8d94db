#include "frontends/pt2/dim_names.h"

#include <algorithm>
#include <cctype>

#include "frontends/pt2/json.h"

namespace qc::pt2 {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A word that no expression reads as a number or as a symbol of run time (u0).
bool is_name(const std::string& text) {
  const bool number = std::all_of(text.begin() + !text.empty(), text.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return !text.empty() && std::all_of(text.begin(), text.end(), in_word) &&
         !std::isdigit(static_cast<unsigned char>(text[0])) && !(text[0] == 'u' && number);
}

/// Calls `visit` with every word of the text, which may be changed.
template <class F>
std::string map_words(std::string_view text, F&& visit) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    out += visit(text.substr(i, end - i));
    i = end;
  }
  return out;
}

/// Every expression over sizes in a graph and in its bodies.
template <class F>
void for_each_size(ExportedGraph& graph, F&& visit) {
  for (auto& [name, meta] : graph.tensors) {
    for (SymInt& s : meta.sizes) visit(s);
    for (SymInt& s : meta.strides) visit(s);
    visit(meta.storage_offset);
  }
  for (auto* values : {&graph.sym_ints, &graph.sym_floats, &graph.sym_bools}) {
    for (auto& [name, value] : *values) visit(value);
  }
  for (ExportedNode& node : graph.nodes) {
    for (NamedArgument& input : node.inputs) {
      if (!input.arg.graph) continue;
      auto body = std::make_shared<ExportedGraph>(*input.arg.graph);
      for_each_size(*body, visit);
      input.arg.graph = std::move(body);
    }
  }
}

Result<Names> parse(std::string_view text, const Loc& loc) {
  JsonFile file;
  QC_ASSIGN(const Json json, file.parse(text, loc));
  QC_ASSIGN(const auto object, json.object());
  Names out;
  for (const auto field : object) {
    QC_ASSIGN(std::string name, json.with(field.value, field.key).text());
    if (!is_name(name))
      return error(Code::format, loc, "'{}' is no name of a dimension ({})", name, kDimNamesFile);
    out.emplace(std::string(field.key), std::move(name));
  }
  return out;
}

/// A size that both ranges allow.
Range both(const Range& a, const Range& b) {
  Range out = a;
  if (b.min) out.min = std::max(a.min.value_or(*b.min), *b.min);
  if (b.max) out.max = std::min(a.max.value_or(*b.max), *b.max);
  return out;
}

}  // namespace

Result<Ok> name_dims(std::string_view json, const Loc& loc, ExportedProgram& program) {
  QC_ASSIGN(const Names names, parse(json, loc));
  std::string taken;  // a name that an unnamed symbol has
  const auto renamed = [&](std::string_view text) {
    return map_words(text, [&](std::string_view word) {
      const auto found = names.find(word);
      if (found != names.end()) return found->second;
      const bool other = std::any_of(names.begin(), names.end(),
                                     [&](const auto& name) { return name.second == word; });
      if (other) taken = word;
      return std::string(word);
    });
  };
  for_each_size(program.graph, [&](SymInt& size) { size.expr = renamed(size.expr); });
  std::map<std::string, Range, std::less<>> ranges;
  for (const auto& [text, range] : program.ranges) {
    const auto [at, added] = ranges.emplace(renamed(text), range);
    if (!added) at->second = both(at->second, range);
  }
  program.ranges = std::move(ranges);
  if (taken.empty()) return Ok{};
  return error(Code::format, loc, "'{}' is the name of two dimensions ({})", taken, kDimNamesFile);
}

}  // namespace qc::pt2
