// Scope: the names visible while one graph, branch or function body is imported.
#pragma once

#include <string_view>
#include <unordered_map>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"
#include "frontends/onnx/tensor.h"
#include "ir/graph.h"

namespace qc::onnx {

/// Values of attributes that nodes of a function body refer to, the opsets that apply and the text
/// put before node names: what differs between the main graph and an inlined function.
struct Env {
  const std::vector<OpsetId>* opsets = nullptr;
  std::unordered_map<std::string_view, const AttributeProto*> attributes;
  std::string prefix;

  /// The attribute itself or, when it refers to the caller's, that one; null when that is absent.
  const AttributeProto* resolve(const AttributeProto& attribute) const;
  /// The node's attribute of that name, resolved; null when absent.
  const AttributeProto* find(const NodeProto& node, std::string_view name) const;
};

class Scope {
 public:
  /// Names not found here are looked up in `parent`: a scope of the same graph, or of the enclosing
  /// one, whose values must then have been captured by `define` before.
  Scope(Graph& graph, const std::shared_ptr<TensorReader>& reader, Scope* parent = nullptr)
      : graph_(graph), reader_(reader), parent_(parent) {}

  Graph& graph() const { return graph_; }
  const std::shared_ptr<TensorReader>& reader() const { return reader_; }

  /// Makes room for as many further names.
  void reserve(size_t names) { names_.reserve(names_.size() + names); }
  void define(std::string_view name, Value* value);
  /// Binds a name to a list of values; only the ops on sequences can read it.
  void define_sequence(std::string_view name, std::vector<Value*> values) {
    sequences_[name] = std::move(values);
  }
  /// The list a name stands for; null when it is no sequence.
  const std::vector<Value*>* sequence(std::string_view name) const;
  /// Makes initializers known by name; each becomes a constant when first read. A name given twice
  /// is an error.
  Result<Ok> add_initializers(const GraphProto& graph, const Loc& loc);
  bool has_initializer(std::string_view name) const;

  bool local(std::string_view name) const;
  bool outer(std::string_view name) const { return parent_ && parent_->visible(name); }
  bool visible(std::string_view name) const { return local(name) || outer(name); }
  /// The value of a visible name; null for one bound to an omitted operand.
  Result<Value*> find(std::string_view name);

 private:
  Result<Value*> constant(const TensorProto& tensor);

  Graph& graph_;
  std::shared_ptr<TensorReader> reader_;
  Scope* parent_;
  std::shared_ptr<const MappedFile> file_;  // the one the pool was last told of
  Names names_;
  std::vector<Value*> values_;  // by name
  std::unordered_map<std::string_view, std::vector<Value*>> sequences_;
  std::unordered_map<std::string_view, const TensorProto*> dense_;
  std::unordered_map<std::string_view, const SparseTensorProto*> sparse_;
};

/// Operands `names` (empty: omitted, as null) in the scope.
Result<std::vector<Value*>> operands(Scope& scope, const std::vector<std::string_view>& names);

}  // namespace qc::onnx
