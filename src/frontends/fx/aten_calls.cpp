#include "frontends/fx/aten_calls.h"

#include <fmt/format.h>

#include <set>

#include "frontends/fx/interpolate.h"

namespace qc::fx {

Result<Thing> AtenCalls::call(std::string target, const NamedThings& args, CallDetails details,
                              const Loc& loc) {
  QuantParams& params = details.params;
  if (target == "interpolate") {
    QC_ASSIGN(const AtenCall meant, interpolation(scope_, args, loc));
    return call(meant.target, meant.args, std::move(details), loc);
  }
  const QuantParams* operand = quantized_.find(args);
  const std::optional<QuantParams> like = operand ? std::optional(*operand) : std::nullopt;
  if (!params.dtype && like) params.dtype = like->dtype;
  if (target == "dequantize") return quantized_.decoded(args[0].second, loc);
  if (target == "quantize") return quantized_.encode(args[0].second, params, loc);
  constexpr std::string_view kRelu = "+relu";
  const bool relu = target.ends_with(kRelu);
  if (relu) target.resize(target.size() - kRelu.size());
  Thing result;
  if (details.in_place) {
    QC_ASSIGN(result, scope_.call_in_place(target, args, loc));
  } else {
    QC_ASSIGN(result, scope_.call(target, args, details.returned, loc));
  }
  if (relu) {
    QC_ASSIGN(result, scope_.call("relu.default", {{"self", result}}, {}, loc));
  }
  if (params.given()) return quantized_.encode(result, params, loc);
  if (!like) return result;
  QC_ASSIGN(const Thing encoded, quantized_.encode_like(target, result, *like, loc));
  if (!details.in_place) return encoded;
  QC_ASSIGN(Value * value, scope_.tensor(encoded, loc));
  scope_.memory().write(*result.as<CellId>(), value);
  return result;
}

Result<std::optional<Thing>> AtenCalls::spatial_mean(const NamedThings& args, const Loc& loc) {
  const auto argument = [&](std::string_view key) -> const Thing* {
    for (const auto& [name, thing] : args) {
      if (name == key) return &thing;
    }
    return nullptr;
  };
  const std::optional<Thing> none;
  const Thing &self = *argument("self"), *dims = argument("dim"), *kept = argument("keepdim");
  if (!self.as<CellId>() || !dims->as<Things>() || argument("dtype")) return none;
  QC_ASSIGN(const Value* x, scope_.tensor(self, loc));
  const int64_t rank = x->rank();
  if (rank < 4 || rank > 5 || !all_static(x->shape()) || !is_float(x->dtype())) return none;
  std::set<int64_t> axes;
  for (const Thing& dim : *dims->as<Things>()) {
    const Dim* axis = dim.as<Dim>();
    if (axis && axis->is_static()) axes.insert(axis->value() + (axis->value() < 0 ? rank : 0));
  }
  for (int64_t axis = 2; axis < rank; ++axis) axes.erase(axis);
  if (!axes.empty() || dims->as<Things>()->size() != static_cast<size_t>(rank - 2)) return none;
  const Things one(static_cast<size_t>(rank - 2), Thing{Dim(1)});
  QC_ASSIGN(Thing out, call(fmt::format("adaptive_avg_pool{}d.default", rank - 2),
                            {{"self", self}, {"output_size", Thing{one}}}, {}, loc));
  if (!kept || !kept->as<bool>() || !*kept->as<bool>()) {
    QC_ASSIGN(out,
              call("flatten.using_ints", {{"self", out}, {"start_dim", Thing{Dim(1)}}}, {}, loc));
  }
  return std::optional(std::move(out));
}

void choose_padding(std::string& target, const NamedThings& args) {
  if (!target.starts_with("conv") || !target.ends_with(".default")) return;
  for (const auto& [name, thing] : args) {
    if (name == "padding" && thing.as<std::string>())
      target.replace(target.size() - 7, 7, "padding");
  }
}

}  // namespace qc::fx
