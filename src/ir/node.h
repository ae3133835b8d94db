// Node: one operation of the graph. Every op is a small class in its own folder under src/ops/;
// this header is all that passes, printers and the interpreter know of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/pool.h"
#include "ir/type.h"
#include "support/diag.h"

namespace qc {

class Graph;
class Node;
class Value;
class EvalContext;  // interp/eval.h
class Lowering;     // program/lowering.h

/// Facts about an op that passes may ask for. Passes never compare op names.
enum Trait : uint32_t {
  kElementwise =
      1u << 0,  // one output; output element i depends on element i of the (broadcast) inputs
  kCommutative = 1u << 1,    // the first two operands may be swapped
  kMovesElements = 1u << 2,  // copies elements without computing: legal on codes of any type
  kReshapes = 1u << 3,       // output bytes are the input bytes in the same order (row-major)
  // lower() handles channels-last operand 0 and result (all operands of the result's rank for
  // elementwise and moving ops); those of them that are not constants always have one layout
  kAnyLayout = 1u << 4,
  kWantsChannelsLast = 1u << 5,  // as kAnyLayout, and lower() is much faster so
  kRandom = 1u << 6,             // not a function of its operands: never folded or merged
  kHasRegions = 1u << 7,
  kChangesLayout = 1u << 8,  // copies operand 0 to the layout named by its attribute `to`
  // Works on codes of quantized operands as it stands: the result's codes have their format. Only
  // orders and moves elements (a maximum, a reshape, a gather); all quantized operands of it must
  // have one format.
  kOnCodes = 1u << 9,
  // Has no integer form: a quantized one decodes its operands, computes in f32 and encodes.
  kQuantizedInFloat = 1u << 10,
  kKeepsConstant = 1u << 11,  // not folded where its operands are constants: decoding of weights
  kBroadcasts = 1u << 12,     // elementwise, and all operands are repeated as far as they need be
  kRepeats = 1u << 13,        // operand 0, repeated as ops with kBroadcasts do it themselves
};

/// Constant data about an op, one per op.
struct OpInfo {
  std::string_view name;  // in the text form: lower case with underscores
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  int outputs = 1;     // -1: the node decides
  uint32_t traits = 0;
  std::string_view summary;  // one sentence for `quantc ops`

  bool has(Trait trait) const { return (traits & trait) != 0; }
};

/// One operand slot: a link in the use list of the value it reads.
struct Use {
  Value* value = nullptr;  // null: an omitted optional operand
  Node* user = nullptr;
  uint32_t index = 0;
  Use* prev = nullptr;
  Use* next = nullptr;

  QC_POOLED
};

class Node {
 public:
  virtual ~Node();
  Node& operator=(const Node&) = delete;
  QC_POOLED

  virtual const OpInfo& info() const = 0;
  /// A node with the same attributes and location, without operands.
  virtual std::unique_ptr<Node> clone() const = 0;
  /// Names every attribute; see ir/attr.h.
  virtual void attrs(AttrVisitor&) {}
  /// Types of the outputs from the types of the operands; checks all constraints of the op.
  virtual Result<std::vector<Type>> infer() const = 0;
  /// Integer contents of output 0 as dims, where they are known although the operands are not
  /// constant: what shape computations need.
  virtual std::optional<Dims> contents() const { return std::nullopt; }
  /// Reference evaluation: plain, complete, the definition of right.
  virtual Result<Ok> eval(EvalContext&) const = 0;
  /// Kernel calls that compute the outputs.
  virtual Result<Ok> lower(Lowering&) const = 0;
  /// Output 0 is operand 0, bit for bit: a reshape to the same shape, a clamp without limits.
  virtual bool is_identity() const { return false; }
  /// Multiply-accumulates of one evaluation, for reports.
  virtual int64_t macs() const { return 0; }

  std::string_view op() const { return info().name; }
  size_t input_count() const { return input_count_; }
  size_t output_count() const { return output_count_; }
  /// Operand i, or null when it is omitted (or i is past the end).
  Value* input(size_t i) const { return i < input_count_ ? inputs_[i].value : nullptr; }
  Value* output(size_t i = 0) const;
  std::vector<Value*> inputs() const;
  const Type& input_type(size_t i) const;
  const Loc& loc() const { return loc_; }
  Graph* graph() const { return graph_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }
  /// Bodies of control flow; isolated, so they name no value of this graph.
  std::span<const std::unique_ptr<Graph>> regions() const { return regions_; }
  Graph* region(size_t i) const { return regions_[i].get(); }
  void add_region(std::unique_ptr<Graph> region);

 protected:
  Node() = default;
  Node(const Node& other);

 private:
  friend class Graph;
  // What a walk over the graph reads comes first, so that it lies on one cache line.
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
  Graph* graph_ = nullptr;
  std::unique_ptr<Use[]> inputs_;
  std::unique_ptr<Value[]> outputs_;
  uint32_t input_count_ = 0;
  uint32_t output_count_ = 0;
  std::vector<std::unique_ptr<Graph>> regions_;
  Loc loc_;
};

/// Base of op classes: supplies clone().
template <class Derived>
class OpNode : public Node {
 public:
  std::unique_ptr<Node> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// A value of the graph: an input, a constant or an output of a node.
class Value {
 public:
  QC_POOLED

  const Type& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Dims& shape() const { return type_.shape; }
  int64_t rank() const { return type_.rank(); }
  /// The producing node, null for inputs and constants.
  Node* def() const { return def_; }
  size_t index() const { return index_; }
  /// A number of its own among all values the graph ever had, below `graph()->value_bound()`.
  size_t number() const { return number_; }
  bool is_constant() const { return constant_.has_value(); }
  ConstId constant() const { return *constant_; }
  /// The model's name of this value; may be empty.
  const std::string& name() const { return name_; }
  Graph* graph() const { return graph_; }

  bool has_uses() const { return first_use_ != nullptr || pinned_ > 0; }
  /// Exactly one operand slot reads it, and it is no graph output.
  bool has_one_use() const { return first_use_ && !first_use_->next && pinned_ == 0; }
  /// How many graph outputs (and state outputs) name it.
  int pinned() const { return pinned_; }
  const Use* first_use() const { return first_use_; }
  std::vector<Node*> users() const;
  /// The number of the quantization scheme noted for this value, -1 for none.
  int note() const { return note_; }

 private:
  friend class Graph;
  friend class Node;
  Node* def_ = nullptr;
  Use* first_use_ = nullptr;
  Graph* graph_ = nullptr;
  uint32_t index_ = 0;
  uint32_t number_ = 0;
  int pinned_ = 0;
  int note_ = -1;
  std::optional<ConstId> constant_;
  Type type_;
  std::string name_;
  std::optional<Dims> contents_;

  friend std::optional<Dims> known_ints(const Value*);
};

inline Value* Node::output(size_t i) const { return &outputs_[i]; }

/// Integer contents of a small value where known at compile time: of a constant, or as dims
/// propagated through shape computations. Lists of up to 256 elements, row-major.
std::optional<Dims> known_ints(const Value* value);

}  // namespace qc
