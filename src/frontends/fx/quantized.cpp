#include "frontends/fx/quantized.h"

#include <algorithm>

namespace qc::fx {
namespace {

/// Ops whose result has the codes of their operand: those that move or choose elements, and those
/// that PyTorch computes on codes.
constexpr std::string_view kKeepParams[] = {"_upsample_nearest_exact1d",
                                            "_upsample_nearest_exact2d",
                                            "_upsample_nearest_exact3d",
                                            "adaptive_avg_pool1d",
                                            "adaptive_avg_pool2d",
                                            "adaptive_avg_pool3d",
                                            "alias",
                                            "amax",
                                            "amin",
                                            "avg_pool1d",
                                            "avg_pool2d",
                                            "avg_pool3d",
                                            "cat",
                                            "chunk",
                                            "clamp",
                                            "clamp_max",
                                            "clamp_min",
                                            "clone",
                                            "contiguous",
                                            "detach",
                                            "dropout",
                                            "expand",
                                            "expand_as",
                                            "feature_dropout",
                                            "flatten",
                                            "flip",
                                            "hardtanh",
                                            "index_select",
                                            "max",
                                            "max_pool1d",
                                            "max_pool2d",
                                            "max_pool3d",
                                            "mean",
                                            "min",
                                            "narrow",
                                            "pad",
                                            "permute",
                                            "pixel_shuffle",
                                            "relu",
                                            "relu6",
                                            "repeat",
                                            "reshape",
                                            "select",
                                            "slice",
                                            "split",
                                            "split_with_sizes",
                                            "squeeze",
                                            "stack",
                                            "t",
                                            "transpose",
                                            "unbind",
                                            "unsqueeze",
                                            "upsample_bilinear2d",
                                            "upsample_nearest1d",
                                            "upsample_nearest2d",
                                            "upsample_nearest3d",
                                            "view"};

/// Ops whose results lie in a range that is known.
struct Fixed {
  std::string_view op;
  double scale;
  int64_t zero_unsigned;
};
constexpr Fixed kFixed[] = {
    {"sigmoid", 1.0 / 256, 0}, {"hardsigmoid", 1.0 / 256, 0}, {"tanh", 2.0 / 256, 128}};

std::string_view op_of(std::string_view target) { return target.substr(0, target.find('.')); }

/// Limits of the codes, the type's own unless they are given.
std::pair<int64_t, int64_t> limits(DType dtype) {
  const int width = bits(dtype);
  return is_signed(dtype) ? std::pair(-(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1)
                          : std::pair(int64_t{0}, (int64_t{1} << width) - 1);
}

Thing number(int64_t value) { return Thing{Dim(value)}; }

const Item* attribute(const DumpModule& module, std::string_view name) {
  for (const auto& [key, item] : module.attributes) {
    if (key == name && item.kind != Item::Kind::none) return &item;
  }
  return nullptr;
}

}  // namespace

ModuleKind kind_of(std::string_view type) {
  constexpr std::pair<std::string_view, ModuleKind> kPackages[] = {
      {"torch.nn.", ModuleKind::plain},
      {"torch.ao.nn.quantized.reference.", ModuleKind::reference},
      {"torch.ao.nn.quantized.modules.", ModuleKind::quantized},
      {"torch.ao.nn.quantized.dynamic.modules.linear.", ModuleKind::dynamic},
      {"torch.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu.", ModuleKind::dynamic},
      {"torch.ao.nn.intrinsic.quantized.modules.", ModuleKind::quantized},
      {"torch.ao.nn.intrinsic.modules.fused.", ModuleKind::fused}};
  for (const auto& [package, kind] : kPackages) {
    if (type.starts_with(package)) return kind;
  }
  return ModuleKind::unknown;
}

QuantParams take_params(NamedThings& args) {
  QuantParams out;
  std::erase_if(args, [&](const auto& arg) {
    const auto& [name, thing] = arg;
    if (name == "^scale") out.scale = thing;
    if (name == "^zero") out.zero_point = thing;
    if (name == "^dtype" && thing.template as<DType>()) out.dtype = *thing.template as<DType>();
    return name.starts_with('^');
  });
  return out;
}

const QuantParams* QuantizedTensors::find(const Thing& thing) const {
  const CellId* cell = thing.as<CellId>();
  const auto found = cell ? params_.find(*cell) : params_.end();
  return found == params_.end() ? nullptr : &found->second;
}

const QuantParams* QuantizedTensors::find(const NamedThings& args) const {
  for (const auto& [name, thing] : args) {
    if (const QuantParams* params = find(thing)) return params;
    const Things* list = thing.as<Things>();
    for (size_t i = 0; list && i < list->size(); ++i) {
      if (const QuantParams* params = find((*list)[i])) return params;
    }
  }
  return nullptr;
}

void QuantizedTensors::mark(const Thing& part, const QuantParams& params) {
  if (const CellId* cell = part.as<CellId>()) params_[*cell] = params;
}

Result<Thing> QuantizedTensors::encode(const Thing& x, const QuantParams& params, const Loc& loc) {
  if (!params.dtype || bits(*params.dtype) != 8)
    return error(Code::unsupported, loc, "a quantized tensor that has no codes of 8 bits");
  const auto [qmin, qmax] = limits(*params.dtype);
  const bool tensors = params.scale.as<CellId>() || params.zero_point.as<CellId>();
  const char* overload = tensors ? "tensor" : "default";
  NamedThings args{{"input", x},
                   {"scale", params.scale},
                   {"zero_point", params.zero_point},
                   {"quant_min", number(qmin)},
                   {"quant_max", number(qmax)},
                   {"dtype", Thing{*params.dtype}}};
  const std::string package = "quantized_decomposed::";
  QC_ASSIGN(args[0].second,
            scope_.call(package + "quantize_per_tensor." + overload, args, {}, loc));
  QC_ASSIGN(const Thing out,
            scope_.call(package + "dequantize_per_tensor." + overload, args, {}, loc));
  mark(out, params);
  return out;
}

Result<Thing> QuantizedTensors::decoded(const Thing& x, const Loc& loc) {
  QC_ASSIGN(Value * value, scope_.tensor(x, loc));
  return Thing{scope_.memory().allocate(value)};
}

Result<Thing> QuantizedTensors::encode_like(const std::string& target, const Thing& result,
                                            const QuantParams& operand, const Loc& loc) {
  if (const Things* list = result.as<Things>()) {
    Things out;
    for (const Thing& one : *list) {
      QC_ASSIGN(Thing made, encode_like(target, one, operand, loc));
      out.push_back(std::move(made));
    }
    return Thing{std::move(out)};
  }
  if (!result.as<CellId>()) return result;
  QC_ASSIGN(const Value* value, scope_.tensor(result, loc));
  if (value->dtype() != DType::f32) return result;
  const std::string_view op = op_of(target);
  QuantParams params = operand;
  if (const auto* fixed = std::find_if(std::begin(kFixed), std::end(kFixed),
                                       [&](const Fixed& f) { return f.op == op; });
      fixed != std::end(kFixed)) {
    params.scale = Thing{fixed->scale};
    params.zero_point = number(fixed->zero_unsigned - (params.dtype == DType::i8 ? 128 : 0));
  } else if (std::find(std::begin(kKeepParams), std::end(kKeepParams), op) ==
             std::end(kKeepParams)) {
    return error(Code::unsupported, loc, "{} of a quantized tensor: dequantize it before", op);
  }
  return encode(result, params, loc);
}

Result<Thing> QuantizedTensors::dynamic_linear(const std::string& path, const DumpModule& module,
                                               const Thing& input, const Loc& loc) {
  NamedThings args{{"input", input}};
  for (const char* name : {"weight", "weight_scale", "weight_zero_point", "bias"}) {
    QC_ASSIGN(Value * value, scope_.weight(path + "." + name));
    if (value) {
      args.emplace_back(name, Thing{scope_.memory().allocate(value)});
    } else if (std::string_view(name) != "bias") {
      return error(Code::unsupported, loc, "weights that are no codes of 8 bits");
    }
  }
  for (const char* name : {"reduce_range", "fused"}) {
    const Item* flag = attribute(module, name);
    if (flag) args.emplace_back(name, Thing{flag->boolean});
  }
  QC_ASSIGN(Thing out, scope_.call("quantized::linear_dynamic.default", args, {}, loc));
  if (!module.type.ends_with("ReLU")) return out;
  return scope_.call("relu.default", {{"self", out}}, {}, loc);
}

Result<Thing> QuantizedTensors::weight(const std::string& path, const DumpModule& module,
                                       const Loc& loc) {
  QC_ASSIGN(Value * value, scope_.weight(path + ".weight"));
  QC_ASSIGN(Value * scale, scope_.weight(path + ".weight_scale"));
  QC_ASSIGN(Value * zero, scope_.weight(path + ".weight_zero_point"));
  if (value && !scale && value->dtype() == DType::f32)
    return Thing{scope_.memory().allocate(value)};
  const Item* dtype = attribute(module, "weight_dtype");
  if (!value || !scale || !zero || !dtype || bits(dtype->dtype) != 8 || is_float(dtype->dtype))
    return error(Code::unsupported, loc, "weights that are no codes of 8 bits");
  auto [qmin, qmax] = limits(dtype->dtype);
  if (const Item* given = attribute(module, "weight_quant_min")) qmin = given->integer;
  if (const Item* given = attribute(module, "weight_quant_max")) qmax = given->integer;
  const Item* axis = attribute(module, "weight_axis_int");
  Memory& memory = scope_.memory();
  const bool channels = scale->rank() == 1;
  NamedThings args{{"input", Thing{memory.allocate(value)}},
                   {channels ? "scales" : "scale", Thing{memory.allocate(scale)}},
                   {channels ? "zero_points" : "zero_point", Thing{memory.allocate(zero)}},
                   {"quant_min", number(qmin)},
                   {"quant_max", number(qmax)},
                   {"dtype", Thing{dtype->dtype}}};
  if (channels) args.emplace_back("axis", number(axis ? axis->integer : 0));
  const std::string granularity = channels ? "_per_channel.default" : "_per_tensor.tensor";
  if (value->dtype() == DType::f32) {
    QC_ASSIGN(args[0].second,
              scope_.call("quantized_decomposed::quantize" + granularity, args, {}, loc));
  }
  return scope_.call("quantized_decomposed::dequantize" + granularity, args, {}, loc);
}

}  // namespace qc::fx
