// Formulas of values that depend on indices and sizes alone: positions, and what compares them.
// Masks of sequence models are made so. An op that can say what its result is, given what its
// operands are, has the capability HasFormula; one that can do without a mask of a known formula
// has TakesMask (see ir/capability.h for how passes ask).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace qc {

/// base + the sum of step[a] * (index along axis a).
struct Affine {
  Dim base;
  Ints step;  // one for each axis of the value; 0 along an axis of one element

  bool operator==(const Affine&) const = default;
  bool is_even() const;  // the same at all indices
  Affine times(int64_t factor) const;
};
Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);

/// What the elements of an integer or bool value are. Of integers it has one term; a bool element
/// is true where no term is negative.
struct IndexFormula {
  bool is_truth = false;
  std::vector<Affine> terms;

  static IndexFormula number(Dim value, size_t rank);
  static IndexFormula truth(bool value, size_t rank);
  /// The elements where they all are one number, or all true (1) or false (0).
  std::optional<int64_t> known() const;
  /// Every element is the same.
  bool is_even() const;
};

/// What a node knows of its operands while it works out its own formula.
class FormulaOperands {
 public:
  FormulaOperands(std::vector<const IndexFormula*> formulas, const SymbolBounds& symbols)
      : formulas_(std::move(formulas)), symbols_(symbols) {}
  /// That of operand i; null where it has none.
  const IndexFormula* operator[](size_t i) const { return formulas_[i]; }
  size_t size() const { return formulas_.size(); }
  /// The sizes are equal whatever the symbols are.
  bool same(const Dim& a, const Dim& b) const;
  /// The formula of operand i, which has shape `from`, where it broadcasts to `to`. Nullopt where
  /// there is none, or where it depends on the sizes which elements are repeated.
  std::optional<IndexFormula> broadcast(size_t i, const Dims& from, const Dims& to) const;

 private:
  std::vector<const IndexFormula*> formulas_;
  const SymbolBounds& symbols_;
};

/// A formula that is the same at all indices, of a value of another rank; nullopt for others.
std::optional<IndexFormula> even_formula(const IndexFormula* formula, size_t rank);

/// An op that computes nothing but formulas from formulas, for some operands at least.
class HasFormula {
 public:
  virtual ~HasFormula() = default;
  /// That of output 0; nullopt where it has none. Whether numbers fit into the element type is
  /// checked by who asks.
  virtual std::optional<IndexFormula> formula(const FormulaOperands& in) const = 0;
};

/// An op with a bool mask as its last operand.
class TakesMask {
 public:
  virtual ~TakesMask() = default;
  /// A node without operands that, without the last operand, makes to the bit what this node makes
  /// with a mask of this formula; null where there is none.
  virtual std::unique_ptr<Node> without_mask(const IndexFormula& mask) const = 0;
};

/// An op that takes elements of one operand where the bools of operand 0 are true and of another
/// where they are not, both repeated to the shape of its result.
class PicksByTruth {
 public:
  virtual ~PicksByTruth() = default;
  virtual size_t picked(bool truth) const = 0;
};

/// Numbers one after the other along an axis of a value: start, start + step, ..., `count` of them.
/// Along its other axes they are the same. Without an axis there is one number.
struct NumberRun {
  Dim start, count;
  int64_t step = 1;
  std::optional<size_t> axis;
};

/// An op that picks parts of operand 0 by the numbers of operand 1.
class PicksByNumber {
 public:
  virtual ~PicksByNumber() = default;
  /// How many there are to pick from.
  virtual Dim choices() const = 0;
  /// What this node makes where its numbers are a run that lies within them, without reading them.
  virtual Result<Value*> emit_run(Graph& graph, const NumberRun& run, Node* before) const = 0;
};

/// The formula of each value of a graph that has one.
class IndexFormulas {
 public:
  explicit IndexFormulas(const Graph& graph);
  /// Null where it has none. Of values that were added later it knows nothing.
  const IndexFormula* of(const Value* value);
  /// The elements of a value as a run, where they are one that lies from 0 to below `end` whatever
  /// the sizes are.
  std::optional<NumberRun> run_below(const Value* value, const Dim& end);

 private:
  std::optional<IndexFormula> checked(IndexFormula formula, const Type& type) const;
  std::optional<IndexFormula> of_contents(const Value* value) const;
  Bounds bounds(const Affine& term, const Dims& shape) const;

  SymbolBounds symbols_;
  std::vector<std::optional<IndexFormula>> formulas_;  // by the number of the value
  std::vector<bool> read_;                             // constants that were looked at
};

/// The value repeated to this shape.
Result<Value*> emit_expanded(Graph& graph, Value* value, const Dims& shape, const Loc& loc,
                             Node* before);
/// A value of this type whose elements are all `number`.
Result<Value*> emit_repeated(Graph& graph, int64_t number, const Type& type, const Loc& loc,
                             Node* before);

}  // namespace qc
