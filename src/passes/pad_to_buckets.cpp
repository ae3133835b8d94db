#include "passes/pad_to_buckets.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/capability.h"
#include "ir/padding.h"
#include "support/budget.h"

namespace qc {
namespace {

/// Buckets of one dimension, ascending.
struct Buckets {
  std::string symbol;
  std::vector<int64_t> sizes;
};

/// Adds what `from` computes to `to`, with a dimension fixed to a bucket.
class Padder {
 public:
  Padder(const Graph& from, BucketedDim dim, Graph& to)
      : from_(from),
        dim_(std::move(dim)),
        to_(to),
        values_(from.value_bound()),
        paddings_(from.value_bound()) {}

  /// `inputs` stand in `to` for those of `from`; gives what stands there for its outputs.
  Result<std::vector<Value*>> run(const std::vector<Value*>& inputs,
                                  const std::vector<Node*>& nodes) {
    for (size_t i = 0; i < inputs.size(); ++i) QC_TRY(take_input(from_.inputs()[i], inputs[i]));
    for (const Node* node : nodes) QC_TRY(add(*node));
    std::vector<Value*> out;
    for (const Output& o : from_.outputs()) {
      QC_ASSIGN(Value * value, cut(o));
      out.push_back(value);
    }
    return out;
  }

 private:
  Loc loc() const { return {from_.file, {}, {}}; }

  Result<Ok> take_input(const Value* input, Value* x) {
    Padding padding(input->shape().size());
    for (size_t axis = 0; axis < padding.size(); ++axis) {
      const Dim& size = input->shape()[axis];
      if (!dim_.in(size)) continue;
      padding[axis] = {{size, true}};
      QC_ASSIGN(
          x, fitted(to_, x, static_cast<int64_t>(axis), dim_.resized(size), size, nullptr, loc()));
    }
    set(input, x, std::move(padding));
    return Ok{};
  }

  Result<Value*> cut(const Output& output) {
    Value* x = mapped(output.value);
    const Padding padding = padding_of(output.value);
    for (size_t axis = 0; axis < padding.size(); ++axis) {
      if (padding[axis].empty()) continue;
      const Dim& size = output.value->shape()[axis];
      if (padding[axis].size() != 1) {
        return error(Code::unsupported, loc(),
                     "output '{}' cannot be padded along '{}': axis {} of size {} joins it with "
                     "others; leave out the buckets of this dimension",
                     output.name, dim_.symbol, axis, size.str());
      }
      QC_ASSIGN(x, fitted(to_, x, static_cast<int64_t>(axis), size, size, nullptr, loc()));
    }
    return x;
  }

  Result<Ok> add(const Node& node) {
    std::vector<Value*> operands;
    std::vector<Padding> paddings;
    for (const Value* v : node.inputs()) {
      operands.push_back(mapped(v));
      paddings.push_back(v ? padding_of(v) : Padding{});
    }
    PaddedNode padded(node, dim_, to_, std::move(operands), std::move(paddings));
    std::unique_ptr<Node> copied = node.clone();
    QC_TRY(pad(node, *copied, padded));
    for (const auto& region : node.regions()) {
      QC_ASSIGN(auto body, copy(*region));
      copied->add_region(std::move(body));
    }
    QC_ASSIGN(Node * added, to_.add(std::move(copied), padded.operands(), node.loc()));
    for (size_t i = 0; i < node.output_count(); ++i) {
      QC_TRY(check(node, node.output(i), added->output(i), padded, i));
      to_.set_name(added->output(i), node.output(i)->name());
      set(node.output(i), added->output(i), padded.results()[i]);
    }
    return Ok{};
  }

  /// Prepares operands and attributes of the copy, and says what of its results is padding.
  Result<Ok> pad(const Node& node, Node& copied, PaddedNode& padded) const {
    bool touched = depends_on(node, dim_);
    for (size_t i = 0; i < node.input_count(); ++i) touched = touched || padded.is_padded(i);
    if (!touched) return Ok{};
    if (auto* takes = capability<TakesPadding>(&copied)) return takes->pad(padded);
    if (node.info().has(kElementwise) && !depends_on(node, dim_)) return padded.broadcast();
    if (node.info().has(kReshapes)) {
      resize_attributes(copied, dim_);
      QC_ASSIGN(Padding to, reshaped_padding(padded.padding(0), padded.shape(0),
                                             node.output()->shape(), padded));
      padded.set_result(std::move(to));
      return Ok{};
    }
    return padded.refuse("it may mix elements along it");
  }

  /// Sizes that depend on the dimension are padded, all others are not; none depend on data.
  Result<Ok> check(const Node& node, const Value* was, const Value* is, const PaddedNode& padded,
                   size_t i) const {
    const Padding& padding = padded.results()[i];
    bool same = was->rank() == is->rank() && padding.size() == was->shape().size() &&
                is->shape() == dim_.resized(was->shape());
    for (size_t axis = 0; same && axis < padding.size(); ++axis)
      same = dim_.in(was->shape()[axis]) == !padding[axis].empty();
    if (same) return Ok{};
    return error(Code::unsupported, node.loc(),
                 "{} cannot be padded along '{}': {} does not become a size of the bucket; leave "
                 "out the buckets of this dimension",
                 node.op(), dim_.symbol, str(was->shape()));
  }

  void set(const Value* was, Value* is, Padding padding) {
    values_[was->number()] = is;
    paddings_[was->number()] = std::move(padding);
  }
  Value* mapped(const Value* v) const {
    if (!v) return nullptr;
    return v->is_constant() ? to_.constant(v->constant(), v->type().format) : values_[v->number()];
  }
  Padding padding_of(const Value* v) const {
    return v->is_constant() ? Padding(v->shape().size()) : paddings_[v->number()];
  }

  const Graph& from_;
  const BucketedDim dim_;
  Graph& to_;
  std::vector<Value*> values_;  // by number of the value in `from`
  std::vector<Padding> paddings_;
};

class Bucketer {
 public:
  explicit Bucketer(const std::vector<Buckets>& dims) : dims_(dims) {}

  /// Makes a graph compute in the buckets of all dimensions from `dim` on.
  Result<Ok> run(Graph& graph, size_t dim) {
    if (dim == dims_.size()) return Ok{};
    QC_ASSIGN(const std::vector<Value*> outputs, from_bucket(graph, graph, dim, 0));
    for (size_t i = 0; i < outputs.size(); ++i) graph.set_output(i, outputs[i]);
    graph.sweep();
    // With one bucket there is no choice, and so no region that has seen the other dimensions.
    return dims_[dim].sizes.size() == 1 ? run(graph, dim + 1) : Result<Ok>(Ok{});
  }

 private:
  /// Adds to `to` what `model` computes, for sizes that need bucket `i` or a larger one.
  Result<std::vector<Value*>> from_bucket(const Graph& model, Graph& to, size_t dim, size_t i) {
    const Buckets& buckets = dims_[dim];
    const std::vector<Value*> inputs = to.inputs();
    if (i + 1 == buckets.sizes.size()) return in_bucket(model, to, dim, i);
    QC_ASSIGN(auto fits, region(model));
    QC_ASSIGN(auto computed, in_bucket(model, *fits, dim, i));
    add_outputs(*fits, model, computed);
    QC_TRY(run(*fits, dim + 1));
    QC_ASSIGN(auto larger, region(model));
    QC_ASSIGN(auto rest, from_bucket(model, *larger, dim, i + 1));
    add_outputs(*larger, model, rest);
    if (i + 2 == buckets.sizes.size()) QC_TRY(run(*larger, dim + 1));
    QC_ASSIGN(Node * chosen_node, chosen(to, Dim::symbol(buckets.symbol), buckets.sizes[i],
                                         std::move(fits), std::move(larger), inputs));
    std::vector<Value*> out;
    for (size_t o = 0; o < chosen_node->output_count(); ++o) out.push_back(chosen_node->output(o));
    return out;
  }

  Result<std::vector<Value*>> in_bucket(const Graph& model, Graph& to, size_t dim, size_t i) const {
    const std::vector<Node*> nodes = model.nodes();
    spend(Cost::work, static_cast<int64_t>(nodes.size()) * kNodeWork);
    return Padder(model, {dims_[dim].symbol, dims_[dim].sizes[i]}, to).run(to.inputs(), nodes);
  }

  static Result<std::unique_ptr<Graph>> region(const Graph& model) {
    auto out = std::make_unique<Graph>(model.shared_pool());
    out->file = model.file;
    out->dim_ranges = model.dim_ranges;
    for (const Value* v : model.inputs()) out->add_input(v->name(), v->type());
    return out;
  }
  static void add_outputs(Graph& to, const Graph& model, const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) to.add_output(model.outputs()[i].name, values[i]);
  }

  const std::vector<Buckets>& dims_;
};

}  // namespace

Result<bool> pad_to_buckets(Graph& graph, PassContext& context) {
  const std::vector<std::string> symbols = graph.symbols();
  std::vector<Buckets> dims;
  for (const auto& [symbol, sizes] : context.buckets) {
    if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end() && !sizes.empty())
      dims.push_back({symbol, sizes});
  }
  if (dims.empty()) return false;
  if (!graph.states().empty()) {
    return error(Code::unsupported, Loc{graph.file, {}, {}},
                 "state '{}' is kept between runs, whose sizes may need different buckets: leave "
                 "out the buckets, or make states inputs and outputs with --state io",
                 graph.states()[0].name);
  }
  QC_TRY(Bucketer(dims).run(graph, 0));
  return true;
}

}  // namespace qc
