// What a user may decide while a model is imported.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dot.h"
#include "ir/tensor.h"

namespace qc {

struct ImportOptions {
  /// Numbers for symbolic dims; naming one that the model's inputs do not have is an error.
  Bindings dims = {};
  /// Inputs, by name, that become constants and so leave the list of inputs.
  std::map<std::string, Tensor, std::less<>> constants = {};
  /// The arithmetic of the model (parse_model_arithmetic); what it leaves open is that of its
  /// format ("onnxruntime" for ONNX, "torch" for PyTorch).
  std::string arithmetic = {};
  /// How float dot products are summed, also those of constants that are folded while importing.
  DotStep dot = DotStep::fma;
  /// Takes what the importer left out, one line each; may be null.
  std::vector<std::string>* remarks = nullptr;
  /// Stops once the inputs are known: the graph has nothing else. Nodes may need numbers of inputs
  /// that the caller gives only when it knows their types.
  bool inputs_only = false;
};

}  // namespace qc
