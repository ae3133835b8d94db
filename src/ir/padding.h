// Padding: what a graph computes when one of its sizes is larger than the run's. A graph whose
// dimension `seq` is fixed to a bucket B is given s <= B elements along it; elements from s on are
// padding, of which nothing is known. Every element before them must have the bits it has in the
// graph of size s.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace qc {

/// A factor of an axis, with its size in the graph whose dimension is free. Of a padded one the
/// first `size` elements at the run's size are meant, out of `size` at the bucket's.
struct AxisSegment {
  Dim size;
  bool padded = false;
  bool operator==(const AxisSegment&) const = default;
};

/// The factors of an axis, outermost first; none where nothing of it is padding.
using AxisSegments = std::vector<AxisSegment>;
/// Of every axis of a value.
using Padding = std::vector<AxisSegments>;

/// What padding is overwritten with before elements along an axis meet.
enum class Fill : uint8_t {
  zero,        // of codes the zero point
  minus_zero,  // changes no sum of floats, whatever its sign
  one,
  lowest,   // minus infinity, or the lowest integer
  highest,  // infinity, or the highest integer
};

/// A dimension that is fixed to a bucket.
struct BucketedDim {
  std::string symbol;
  int64_t size = 0;

  bool in(const Dim& dim) const;
  bool in(const Dims& dims) const;
  /// A size of the free graph in the graph of the bucket.
  Dim resized(const Dim& dim) const { return dim.substitute({{symbol, size}}); }
  Dims resized(const Dims& dims) const;
};

/// One node on its way into the graph of a bucket: its operands there, and what of them is padding.
class PaddedNode {
 public:
  PaddedNode(const Node& node, const BucketedDim& dim, Graph& to, std::vector<Value*> operands,
             std::vector<Padding> paddings);

  const BucketedDim& dim() const { return dim_; }
  /// The operand as the free graph has it.
  const Dims& shape(size_t operand) const { return node_.input_type(operand).shape; }
  /// Result 0 there.
  const Dims& result_shape() const { return node_.output()->shape(); }
  const Padding& padding(size_t operand) const { return paddings_[operand]; }
  const AxisSegments& parts(size_t operand, int64_t axis) const {
    return paddings_[operand][static_cast<size_t>(axis)];
  }
  bool is_padded(size_t operand, int64_t axis) const { return !parts(operand, axis).empty(); }
  bool is_padded(size_t operand) const;

  /// Overwrites what is padding along an axis; an error where that is not the end of the axis.
  Result<Ok> fill(size_t operand, int64_t axis, Fill with);
  Result<Ok> fill(size_t operand, int64_t axis, Value* with);
  /// Padding of every operand becomes copies of the last elements before it. An op on elements or
  /// rows by themselves then has no result that it does not have without padding, so that the
  /// range of its results is the same; an error where there may be no element.
  Result<Ok> repeat_edges();
  /// A bool for each element of a padded axis: whether it is meant.
  Result<Value*> meant(const AxisSegments& axis);
  void set_operand(size_t i, Value* value);

  /// Every result is padded so; one of other rank than the first must be set by itself.
  void set_result(Padding padding);
  void set_result(size_t i, Padding padding) { results_[i] = std::move(padding); }
  /// Element i of the results depends on element i of the operands, which broadcast.
  Result<Ok> broadcast();
  /// The first `axes` axes of operand 0 lie side by side, nothing along the others is padded; other
  /// operands are padded along the same axes, or not at all.
  Result<Ok> rows(int64_t axes);
  /// As operand 0, of which nothing is padded along `axis`.
  Result<Ok> except(int64_t axis);
  /// A non-negative axis of operand 0.
  int64_t resolved(int64_t axis) const { return axis < 0 ? axis + std::ssize(shape(0)) : axis; }
  Diag refuse(std::string_view why) const;

  /// Nodes may stand in the graph of the bucket instead of the copy: this is what they compute in
  /// place of result 0, the only one.
  Graph& graph() const { return to_; }
  const Loc& loc() const { return node_.loc(); }
  void replace(Value* result) { replaced_ = result; }
  Value* replaced() const { return replaced_; }

  const std::vector<Value*>& operands() const { return operands_; }
  const std::vector<Padding>& results() const { return results_; }

  /// Adds a copy of the node to the graph of the bucket and gives its results there, of which
  /// `results()` then says what is padding; an error where the node cannot be padded.
  Result<std::vector<Value*>> add();

 private:
  Result<Ok> pad(Node& copied);
  Result<Ok> check(size_t i, const Value* is) const;

  const Node& node_;
  const BucketedDim& dim_;
  Graph& to_;
  std::vector<Value*> operands_;
  std::vector<Padding> paddings_, results_;
  Value* replaced_ = nullptr;
};

/// An op that can compute with padding. Those that are elementwise or that reshape need not say it.
class TakesPadding {
 public:
  virtual ~TakesPadding() = default;
  /// Called on a copy that will stand in the graph of the bucket: fills what it mixes, gives its
  /// attributes the sizes of the bucket and says what of the results is padding.
  virtual Result<Ok> pad(PaddedNode& c) = 0;
};

/// Padding of a reshaped value; an error where a padded factor is torn apart.
Result<Padding> reshaped_padding(const Padding& padding, const Dims& from, const Dims& to,
                                 const PaddedNode& c);
/// Whether an attribute of the node depends on the dimension, or on any; and giving all of them its
/// size.
bool depends_on(const Node& node, const BucketedDim& dim);
bool depends_on_sizes(const Node& node);
void resize_attributes(Node& node, const BucketedDim& dim);

/// The number of elements before the padding of an axis; none where it is not all at the end.
std::optional<Dim> elements_before(const AxisSegments& axis);
/// `x` with each padded factor of its axes padded by `pad(x, axis, factor)`, factors standing as
/// axes of their own; they have the bucket's sizes, or the run's where `own` says so.
Result<Value*> pad_factors(
    Graph& graph, Value* x, const Padding& padding, const BucketedDim& dim, bool own,
    const std::function<Result<Value*>(Value*, int64_t, const AxisSegment&)>& pad, const Loc& loc);

/// What comes after the elements that `fitted` takes over.
struct Filler {
  Value* value = nullptr;  // null: zeros
  bool repeat = false;     // the last element again and again
};
/// `x` with `size` elements along the axis: its first `valid` ones, then what `with` says.
Result<Value*> fitted(Graph& graph, Value* x, int64_t axis, const Dim& size, const Dim& valid,
                      const Filler& with, const Loc& loc);
/// Adds `clone`, a copy of the node, with these operands and with regions and names as it has them.
Result<Node*> add_copy(Graph& to, const Node& node, std::unique_ptr<Node> clone,
                       std::vector<Value*> operands);
/// The first elements of `x` along each axis, as many as `shape` says.
Result<Value*> first_elements(Graph& graph, Value* x, const Dims& shape, const Loc& loc,
                              Node* before);
/// `x` with its elements in another shape.
Result<Value*> reshaped(Graph& graph, Value* x, const Dims& shape, const Loc& loc);
/// Runs the first region where a size is at most `limit`, else the second; both take `inputs`.
Result<Node*> chosen(Graph& graph, const Dim& size, int64_t limit, std::unique_ptr<Graph> fits,
                     std::unique_ptr<Graph> larger, const std::vector<Value*>& inputs);

}  // namespace qc
