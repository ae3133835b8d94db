// Layers of a model beside what they should give: results of another model, or arrays, found by the
// names of the layers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/analyze.h"
#include "ir/graph.h"

namespace qc {

/// One result of one layer beside what it should be, over all samples.
struct LayerComparison {
  std::string against;  // "expected", "float"
  std::vector<std::string> names;
  std::string op;
  size_t result = 0;                // which result of the node
  std::optional<LayerError> error;  // nothing where the other has no such result

  /// The names, and the number of the result where it is not the first.
  std::string name() const;
};

/// A result of a node of a contract graph, codes as the floats they stand for.
struct LayerResult {
  const Node* node = nullptr;
  size_t result = 0;
  Tensor floats;
};

/// What the layers compute, in order. Conversions are no layers, and codes whose scales are many or
/// are found at run time have no floats here.
Result<std::vector<LayerResult>> layer_results(const Graph& graph,
                                               const std::vector<Tensor>& inputs);

/// Results by the last name of the layer and their number in it.
struct NamedResults {
  using Key = std::pair<std::string, size_t>;
  std::map<Key, std::vector<Tensor>> of;  // as often as the name computes something, in order
  std::map<Key, Key> within;              // names of what was fused: the layer that has it now
};

Result<NamedResults> named_results(const Graph& graph, const std::vector<Tensor>& inputs);

/// Collects the errors of all layers of a contract graph while its samples come in.
class LayerErrors {
 public:
  LayerErrors(const Graph& graph, std::string against)
      : graph_(graph), against_(std::move(against)) {}

  /// Runs the graph on one sample and compares it with what is wanted.
  Result<Ok> see(const std::vector<Tensor>& inputs, const NamedResults& wanted);
  /// In the order of computation; layers that became several are told once, by the last of them.
  const std::vector<LayerComparison>& layers() const { return layers_; }

 private:
  const Graph& graph_;
  std::string against_;
  std::vector<LayerComparison> layers_;
};

}  // namespace qc
