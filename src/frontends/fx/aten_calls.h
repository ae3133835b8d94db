// Calls of ATen ops with tensors that may be quantized.
#pragma once

#include <optional>
#include <string>

#include "frontends/fx/quantized.h"
#include "frontends/fx/scope.h"

namespace qc::fx {

/// How a call differs from a plain one of a function.
struct CallDetails {
  QuantParams params = {};  // what codes of the result mean, where the call says so
  bool in_place = false;
  Returned returned = {};
};

class AtenCalls {
 public:
  explicit AtenCalls(Scope& scope) : scope_(scope) {}

  QuantizedTensors& quantized() { return quantized_; }

  /// Calls an op; with quantized operands, or where the call says so, its result is encoded.
  /// `interpolate`, `quantize` and `dequantize` are targets too, and so is an op with `+relu`.
  Result<Thing> call(std::string target, const NamedThings& args, CallDetails details,
                     const Loc& loc);
  /// The mean over all axes behind the channels as a pool of one element; nothing where the call is
  /// another mean, or where sizes are free, which pools do not take.
  Result<std::optional<Thing>> spatial_mean(const NamedThings& args, const Loc& loc);

 private:
  Scope& scope_;
  QuantizedTensors quantized_{scope_};
};

/// Convolutions with "same" or "valid" have an overload of their own.
void choose_padding(std::string& target, const NamedThings& args);

}  // namespace qc::fx
