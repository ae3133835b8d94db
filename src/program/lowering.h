// Lowering: graph to Program. Node::lower says which kernels compute its outputs; this class hands
// it the buffers and records the calls.
#pragma once

#include <cstring>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "program/params.h"
#include "program/size_limits.h"

namespace qc {

/// Dims of a value in the order its bytes lie: of a channels-last [N, C, H, W] they are N, H, W, C.
Dims physical_dims(const Type& type);
/// Where logical axis `axis` stands among the physical dims.
int64_t physical_axis(const Type& type, int64_t axis);

/// What of a call does not follow from its kernel.
struct CallInfo {
  std::vector<std::pair<int, int>> in_place;  // (in, out) pairs that may share storage
  int64_t macs = 0;
  std::vector<std::string> facts = {};  // see Call
  std::vector<Stage> epilogue = {};     // that of the call's struct
};

class Lowering {
 public:
  Lowering(Program& program, PackedConstants& constants)
      : program_(program), constants_(constants) {}

  bool has(size_t i) const { return node_->input(i) != nullptr; }
  /// The buffer of operand i; constants become constant buffers.
  View in(size_t i) { return view(node_->input(i)); }
  View out(size_t i = 0) { return view(node_->output(i)); }
  const Type& in_type(size_t i) const { return node_->input(i)->type(); }
  const Type& out_type(size_t i = 0) const { return node_->output(i)->type(); }
  Dims in_dims(size_t i) const { return physical_dims(in_type(i)); }
  Dims out_dims(size_t i = 0) const { return physical_dims(out_type(i)); }
  /// Numbers between which a size lies, whatever the free dimensions are.
  Bounds bounds(const Dim& size) const { return size.bounds(symbols_); }
  /// `size` as a kernel parameter; an error where it may be beyond 32 bits.
  Result<Dim> param(const Dim& size) const { return as_param(size, symbols_); }
  /// An error where a size of an operand or of a result is free: the op needs numbers.
  Result<Ok> need_numbers() const;
  const Loc& loc() const { return node_->loc(); }
  ConstantPool& pool() const { return *program_.pool; }

  /// Records a call; `call` is one of the structs of kernels/<folder>/calls.h.
  template <class KernelCall>
  void emit(const KernelCall& call, CallInfo info = {}) {
    if constexpr (requires { call.stages; }) info.epilogue = call.stages;
    record(KernelCall::kName, numbers(call), call.select(), call.operand_views(),
           call.result_views(), std::move(info));
  }

  /// Operand i, absent where the node has none.
  View optional(size_t i) { return has(i) ? in(i) : View{}; }
  /// Output i is bytes of `storage` from its offset on: no call computes it.
  void alias(size_t i, View storage);
  /// The same where its elements lie with these strides.
  void alias_strided(size_t i, View storage, Dims strides);
  /// Fresh arena bytes that live as long as steps name them: values between the calls of a node.
  /// What a body needs to compute one call is for its variants to know.
  View scratch(const Dim& bytes, std::string_view purpose) {
    return scratch(DType::u8, {bytes}, purpose);
  }
  View scratch(DType dtype, Dims dims, std::string_view purpose);
  /// A constant computed from another when the weights are written, e.g. codes of another type. One
  /// per (purpose, source), which several users share. Weights stay plain: variants pack them.
  View derived(ConstId source, std::string_view purpose, DType dtype, Ints shape,
               std::function<Result<Tensor>(const Tensor&)> make);
  View constant(Tensor tensor, std::string_view purpose);
  /// The constant behind operand i, where it is one.
  std::optional<ConstId> constant_in(size_t i) const;

  /// Lowers a region: its inputs read `inputs`, and the views of its outputs are returned. Steps go
  /// to `steps`.
  Result<std::vector<View>> region(const Graph& region, const std::vector<View>& inputs,
                                   Steps& steps);
  /// Records control flow: a BranchStep or a LoopStep.
  template <class ControlFlow>
  void add(ControlFlow flow) {
    steps_->push_back({node_->loc(), std::move(flow)});
  }
  /// What `record` calls or copies goes to `steps`, the body of control flow.
  template <class F>
  void into(Steps& steps, F&& record) {
    Steps* outer = std::exchange(steps_, &steps);
    record();
    steps_ = outer;
  }
  /// A plain copy of `bytes` bytes, for carried values.
  void copy(View from, View to, const Dim& bytes);

 private:
  friend Result<Program> lower(const Graph&, PackedConstants&);
  View view(const Value* value);
  /// Where the view of a value is kept; its buffer is -1 as long as it has none.
  View& slot(const Value* value);
  int new_buffer(Buffer buffer);
  Result<Ok> lower_nodes(const Graph& graph);
  /// Relations of sizes that the node's type relies on: what cannot be proved for all sizes becomes
  /// a guard of the program.
  Result<Ok> guard(const Node& node);
  void record(std::string_view kernel, std::vector<Param> params,
              const std::vector<std::string_view>& select, std::vector<View> in,
              std::vector<View> out, CallInfo info);

  Program& program_;
  PackedConstants& constants_;
  const Node* node_ = nullptr;
  Steps* steps_ = nullptr;
  SymbolBounds symbols_;                                       // of free dimensions
  std::unordered_map<const Graph*, std::vector<View>> views_;  // by graph and number of the value
  const Graph* graph_ = nullptr;                               // the one of `graph_views_`
  View* graph_views_ = nullptr;
  std::map<std::pair<ConstId, std::string>, View> derived_;
};

/// Lowers a graph; its free dimensions are those with a range. Buffers are not placed yet: see
/// program/plan.h.
Result<Program> lower(const Graph& graph);
Result<Program> lower(const Graph& graph, PackedConstants& constants);

}  // namespace qc
