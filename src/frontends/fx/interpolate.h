// torch.nn.functional.interpolate, which PyTorch itself maps to an ATen op when it runs.
#pragma once

#include "frontends/fx/scope.h"

namespace qc::fx {

/// An ATen op with its arguments.
struct AtenCall {
  std::string target;
  NamedThings args;
};

/// What interpolate calls for `self`, `size`, `scale_factor`, `mode`, `align_corners`,
/// `recompute_scale_factor` and `antialias`; all but the first may be absent.
Result<AtenCall> interpolation(const Scope& scope, const NamedThings& args, const Loc& loc);

}  // namespace qc::fx
