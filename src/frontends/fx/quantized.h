// Tensors of torch.quantize_per_tensor and what torch.ao.nn.quantized computes with them. Such a
// tensor is imported as the floats its codes stand for, encoded and decoded where it is made, so
// that every operation on it is the one on floats and its result is encoded again: the form in
// which exported models have it.
#pragma once

#include <map>
#include <string>

#include "frontends/fx/scope.h"

namespace qc::fx {

/// What the codes of a tensor mean.
struct QuantParams {
  Thing scale, zero_point;
  std::optional<DType> dtype;

  bool given() const { return !scale.none() && !zero_point.none(); }
};

class QuantizedTensors {
 public:
  explicit QuantizedTensors(Scope& scope) : scope_(scope) {}

  /// Of a quantized tensor; null for any other thing.
  const QuantParams* find(const Thing& thing) const;
  /// Of the first quantized tensor among the arguments, also in lists.
  const QuantParams* find(const NamedThings& args) const;
  /// What codes of these parameters say about a tensor of floats.
  Result<Thing> encode(const Thing& x, const QuantParams& params, const Loc& loc);
  /// The floats of a quantized tensor, which is no longer one.
  Result<Thing> decoded(const Thing& x, const Loc& loc);
  /// The result of an ATen op with quantized operands, encoded as PyTorch does without being told.
  Result<Thing> encode_like(const std::string& target, const Thing& result,
                            const QuantParams& operand, const Loc& loc);
  /// A part of a quantized tensor has its codes.
  void mark(const Thing& part, const QuantParams& params);

  /// A linear layer that finds the codes of its operand when it runs.
  Result<Thing> dynamic_linear(const std::string& path, const DumpModule& module,
                               const Thing& input, const Loc& loc);
  /// The weights of a module: codes, floats that become codes first, or floats.
  Result<Thing> weight(const std::string& path, const DumpModule& module, const Loc& loc);

 private:
  Scope& scope_;
  std::map<CellId, QuantParams> params_;
};

/// Takes the arguments that tell what codes of the result mean out of the list.
QuantParams take_params(NamedThings& args);

/// Which modules of torch.ao there are, by package.
enum class ModuleKind : uint8_t {
  plain,      // torch.nn
  reference,  // torch.ao.nn.quantized.reference: weights become codes and floats again
  quantized,  // torch.ao.nn.quantized, torch.ao.nn.intrinsic.quantized: between codes
  dynamic,    // torch.ao.nn.quantized.dynamic: weights are codes, activations become codes
  fused,      // torch.ao.nn.intrinsic: modules one after the other
  unknown
};
ModuleKind kind_of(std::string_view type);

}  // namespace qc::fx
