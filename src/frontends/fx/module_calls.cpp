#include "frontends/fx/module_calls.h"

#include <algorithm>

#include "frontends/fx/calls.h"

namespace qc::fx {
namespace {

/// The class of a module without its package.
std::string_view short_type(std::string_view type) {
  const size_t dot = type.rfind('.');
  return dot == type.npos ? type : type.substr(dot + 1);
}

const Item* attribute(const DumpModule& module, std::string_view name) {
  for (const auto& [key, item] : module.attributes) {
    if (key == name) return &item;
  }
  return nullptr;
}

}  // namespace

std::string unknown_module(const Dump& dump, const std::string& path) {
  const auto found = dump.modules.find(path);
  if (found == dump.modules.end()) return {};
  const DumpModule& module = found->second;
  const ModuleKind kind = kind_of(module.type);
  if (kind == ModuleKind::unknown) return module.type;
  if (kind != ModuleKind::fused)
    return find_module_call(short_type(module.type)) ? std::string() : module.type;
  for (const std::string& child : module.children) {
    const auto inner = dump.modules.find(path + "." + child);
    if (inner == dump.modules.end() || kind_of(inner->second.type) == ModuleKind::fused)
      return module.type;
    if (const std::string what = unknown_module(dump, inner->first); !what.empty()) return what;
  }
  return module.children.empty() ? module.type : std::string();
}

Result<Thing> ModuleCalls::call(const DumpNode& node, const Loc& loc) {
  const auto found = dump_.modules.find(node.target);
  if (found == dump_.modules.end())
    return error(Code::graph, loc, "there is no module '{}'", node.target);
  if (node.args.size() + node.kwargs.size() != 1)
    return error(Code::unsupported, loc, "a module of {} inputs", node.args.size());
  QC_ASSIGN(Thing value,
            scope_.thing(node.args.empty() ? node.kwargs[0].second : node.args[0], loc));
  const DumpModule& module = found->second;
  if (kind_of(module.type) != ModuleKind::fused) return call(node.target, module, value, loc);
  for (const std::string& child : module.children) {
    const auto inner = dump_.modules.find(node.target + "." + child);
    QC_ASSIGN(value, call(inner->first, inner->second, value, loc));
  }
  return value;
}

Result<Thing> ModuleCalls::call(const std::string& path, const DumpModule& module,
                                const Thing& input, const Loc& loc) {
  const ModuleCall& call = *find_module_call(short_type(module.type));
  const ModuleKind kind = kind_of(module.type);
  if (kind == ModuleKind::dynamic)
    return aten_.quantized().dynamic_linear(path, module, input, loc);
  if (const Item* mode = attribute(module, "padding_mode"); mode && mode->text != "zeros")
    return error(Code::unsupported, loc, "padding mode '{}'", mode->text);
  if (const Item* indices = attribute(module, "return_indices"); indices && indices->boolean)
    return error(Code::unsupported, loc, "pooling that returns indices");
  NamedThings args;
  for (const auto& [name, source] : call.arguments) {
    Thing thing;
    if (source == "@") {
      thing = input;
    } else if (source == "#weight" && kind != ModuleKind::plain) {
      QC_ASSIGN(thing, aten_.quantized().weight(path, module, loc));
    } else if (source[0] == '#') {
      QC_ASSIGN(Value * value, scope_.weight(path + "." + source.substr(1)));
      if (value) thing = Thing{scope_.memory().allocate(value)};
    } else if (const Item* item = attribute(module, source.substr(1))) {
      QC_ASSIGN(thing, scope_.thing(*item, loc));
    }
    args.emplace_back(name, std::move(thing));
  }
  QuantParams params;
  if (kind == ModuleKind::quantized) {
    QC_ASSIGN(params, quant_params(path, module, loc));
    const bool weights = std::any_of(call.arguments.begin(), call.arguments.end(),
                                     [](const auto& a) { return a.second == "#weight"; });
    if (weights && !params.given())
      return error(Code::unsupported, loc, "a quantized module without scale and zero point");
  }
  std::string target = call.target;
  choose_padding(target, args);
  const Item* in_place = attribute(module, "inplace");
  return aten_.call(target, args, {params, in_place && in_place->boolean, {}}, loc);
}

/// What the codes of a quantized module's result mean, as its attributes or buffers say.
Result<QuantParams> ModuleCalls::quant_params(const std::string& path, const DumpModule& module,
                                              const Loc& loc) {
  QuantParams out;
  for (auto [name, to] : {std::pair("scale", &out.scale), {"zero_point", &out.zero_point}}) {
    QC_ASSIGN(Value * stored, scope_.weight(path + "." + name));
    if (stored) {
      *to = Thing{scope_.memory().allocate(stored)};
    } else if (const Item* item = attribute(module, name)) {
      QC_ASSIGN(*to, scope_.thing(*item, loc));
    }
  }
  if (const Item* dtype = attribute(module, "dtype"); dtype && dtype->kind == Item::Kind::dtype)
    out.dtype = dtype->dtype;
  return out;
}

}  // namespace qc::fx
