#include "frontends/fx/interpolate.h"

#include <fmt/format.h>

#include <cmath>

namespace qc::fx {
namespace {

struct Mode {
  std::string_view name;
  size_t axes;  // 0: any
  const char* op;
};
/// `{}` is the number of axes.
constexpr Mode kModes[] = {{"nearest", 0, "upsample_nearest{}d.vec"},
                           {"nearest-exact", 0, "_upsample_nearest_exact{}d.vec"},
                           {"area", 0, "adaptive_avg_pool{}d.default"},
                           {"linear", 1, "upsample_linear{}d.vec"},
                           {"bilinear", 2, "upsample_bilinear{}d.vec"},
                           {"trilinear", 3, "upsample_trilinear{}d.vec"},
                           {"bicubic", 2, "upsample_bicubic{}d.vec"},
                           {"bilinear+antialias", 2, "_upsample_bilinear{}d_aa.vec"},
                           {"bicubic+antialias", 2, "_upsample_bicubic{}d_aa.vec"}};

const Thing* argument(const NamedThings& args, std::string_view name) {
  for (const auto& [key, thing] : args) {
    if (key == name && !thing.none()) return &thing;
  }
  return nullptr;
}

bool is_set(const NamedThings& args, std::string_view name) {
  const Thing* thing = argument(args, name);
  return thing && thing->as<bool>() && *thing->as<bool>();
}

/// One for each axis; a single one is for all.
Things per_axis(const Thing& thing, size_t axes) {
  if (const Things* list = thing.as<Things>()) return *list;
  return Things(axes, thing);
}

std::optional<double> number(const Thing& thing) {
  if (const double* value = thing.as<double>()) return *value;
  const Dim* whole = thing.as<Dim>();
  if (!whole || !whole->is_static()) return std::nullopt;
  return static_cast<double>(whole->value());
}

Result<Thing> scaled(const Dim& size, double factor, const Loc& loc) {
  if (size.is_static())
    return Thing{Dim(static_cast<int64_t>(std::floor(static_cast<double>(size.value()) * factor)))};
  if (factor == std::floor(factor)) return Thing{size * Dim(static_cast<int64_t>(factor))};
  return error(Code::unsupported, loc, "size {} times {}: give a number of elements", size.str(),
               factor);
}

}  // namespace

Result<AtenCall> interpolation(const Scope& scope, const NamedThings& args, const Loc& loc) {
  QC_ASSIGN(const Value* x, scope.tensor(*argument(args, "self"), loc));
  const size_t axes = x->rank() < 2 ? 0 : static_cast<size_t>(x->rank()) - 2;
  const Thing* named = argument(args, "mode");
  std::string name = named && named->as<std::string>() ? *named->as<std::string>() : "nearest";
  if (is_set(args, "antialias")) name += "+antialias";
  const Mode* mode = nullptr;
  for (const Mode& one : kModes) {
    if (one.name == name && (one.axes == 0 ? axes >= 1 && axes <= 3 : one.axes == axes))
      mode = &one;
  }
  if (!mode) return error(Code::unsupported, loc, "interpolation '{}' of {}", name, str(x->type()));
  const Thing *size = argument(args, "size"), *factor = argument(args, "scale_factor");
  if (!size == !factor)
    return error(Code::attribute, loc, "interpolation wants either a size or a scale factor");
  Things sizes, factors;
  if (size) {
    sizes = per_axis(*size, axes);
  } else {
    for (const Thing& one : per_axis(*factor, axes)) {
      const auto value = number(one);
      if (!value) return error(Code::unsupported, loc, "a scale factor that is no number");
      factors.emplace_back().is = *value;
    }
  }
  if ((size ? sizes : factors).size() != axes) {
    return error(Code::attribute, loc, "{} sizes or scale factors for {} axes",
                 (size ? sizes : factors).size(), axes);
  }
  const bool area = mode->name == "area";
  if (!size && (area || is_set(args, "recompute_scale_factor"))) {
    for (size_t i = 0; i < axes; ++i) {
      QC_ASSIGN(Thing one, scaled(x->shape()[i + 2], *factors[i].as<double>(), loc));
      sizes.push_back(std::move(one));
    }
    factors.clear();
  }
  AtenCall out{fmt::format(fmt::runtime(mode->op), axes), {}};
  out.args.emplace_back(area ? "self" : "input", *argument(args, "self"));
  if (!sizes.empty()) out.args.emplace_back("output_size", Thing{sizes});
  if (!factors.empty()) out.args.emplace_back("scale_factors", Thing{factors});
  const bool nearest = name.starts_with("nearest");
  if (!nearest && !area)
    out.args.emplace_back("align_corners", Thing{is_set(args, "align_corners")});
  return out;
}

}  // namespace qc::fx
