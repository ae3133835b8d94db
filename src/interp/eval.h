// EvalContext: what evaluations of a node see: concrete operands in, pre-shaped outputs to fill.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace qc {

/// How nodes are evaluated.
struct EvalHow {
  bool plain = false;          // by `eval`, also where a faster evaluation stands beside it
  bool check_indices = false;  // an index that is out of range is an error
};

class EvalContext {
 public:
  EvalContext(const Node& node, std::vector<const Tensor*> inputs, std::vector<Tensor> outputs,
              EvalHow how = {})
      : node_(node), inputs_(std::move(inputs)), outputs_(std::move(outputs)), how_(how) {}

  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Tensor& in(size_t i) const { return *inputs_[i]; }
  size_t input_count() const { return inputs_.size(); }
  /// Output i, zero-filled, with the node's inferred type; `set_out` replaces it whole.
  Tensor& out(size_t i) { return outputs_[i]; }
  void set_out(size_t i, Tensor tensor) { outputs_[i] = std::move(tensor); }
  size_t output_count() const { return outputs_.size(); }
  std::vector<Tensor>& outputs() { return outputs_; }
  const Loc& loc() const { return node_.loc(); }
  /// How float dot products are summed.
  DotStep dot() const { return node_.graph() ? node_.graph()->dot : DotStep::fma; }

  /// Runs a region of the node on concrete operands, its nodes evaluated as this one is.
  Result<std::vector<Tensor>> run(const Graph& region, std::vector<Tensor> inputs) const;

 private:
  const Node& node_;
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> outputs_;
  EvalHow how_;
};

/// An op whose plain `eval` is too slow for whole networks has a second evaluation beside it, which
/// gives the same bits. `eval` stays the definition, and tests compare the two.
class EvaluatesFast {
 public:
  virtual Result<Ok> eval_fast(EvalContext&) const = 0;

 protected:
  ~EvaluatesFast() = default;
};

/// Evaluates one node on concrete operands; the node's types must be static.
Result<std::vector<Tensor>> eval_node(const Node& node, std::vector<const Tensor*> inputs,
                                      EvalHow how = {});

}  // namespace qc
