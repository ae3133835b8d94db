#include "passes/pad_to_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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

/// What became of the nodes of all buckets.
struct PadReport {
  size_t padded = 0;
  std::vector<std::string> refused;  // why nodes could not be padded
};

/// A value of the model in the graph of a bucket: with padding, at the run's own sizes, or both
/// where somebody asked for the other form. The same where the dimension is in no size of it.
struct Forms {
  Value* padded = nullptr;
  Value* own = nullptr;
  Padding padding;
  bool is_input = false;
};

/// Adds what `from` computes to `to`, with a dimension fixed to a bucket. Nodes that cannot be
/// padded take their operands at the run's own size, as in the graph that is free.
class Padder {
 public:
  Padder(const Graph& from, BucketedDim dim, Graph& to, PadReport& report)
      : from_(from), dim_(std::move(dim)), to_(to), report_(report), forms_(from.value_bound()) {}

  /// `inputs` stand in `to` for those of `from`; gives what stands there for its outputs.
  Result<std::vector<Value*>> run(const std::vector<Value*>& inputs,
                                  const std::vector<Node*>& nodes) {
    for (size_t i = 0; i < inputs.size(); ++i) take_input(from_.inputs()[i], inputs[i]);
    for (const Node* node : nodes) QC_TRY(add(*node));
    std::vector<Value*> out;
    for (const Output& o : from_.outputs()) {
      QC_ASSIGN(Value * value, own(o.value));
      out.push_back(value);
    }
    return out;
  }

 private:
  Loc loc() const { return {from_.file, {}, {}}; }

  void take_input(const Value* input, Value* x) {
    for (const Dim& size : input->shape()) {
      if (dim_.in(size)) know({{size, true}});
    }
    Forms& f = forms_[input->number()];
    f = {nullptr, x, {}, true};
    if (!dim_.in(input->shape())) f.padded = x, f.padding.resize(input->shape().size());
  }

  /// Axes that were padded before: only such are padded again, as they are the larger the larger
  /// the dimension.
  void know(const AxisParts& parts) {
    if (parts.empty() || std::find(known_.begin(), known_.end(), parts) != known_.end()) return;
    known_.push_back(parts);
  }
  const AxisParts* known(const Dim& size) const {
    for (const AxisParts& parts : known_) {
      Dim elements(1);
      for (const AxisPart& p : parts) elements = elements * p.size;
      if (elements == size) return &parts;
    }
    return nullptr;
  }

  /// Pads a value along the axes that have parts, or cuts it back.
  Result<Value*> convert(Value* x, const Padding& padding, bool pads) {
    AxisParts all;
    bool joined = false;
    for (size_t axis = 0; axis < padding.size(); ++axis) {
      joined = joined || padding[axis].size() > 1;
      if (padding[axis].empty()) all.push_back({x->shape()[axis], false});
      all.insert(all.end(), padding[axis].begin(), padding[axis].end());
    }
    const auto size = [&](const AxisPart& p, bool padded) {
      return padded ? dim_.resized(p.size) : p.size;
    };
    Dims apart, together;
    for (const AxisPart& p : all) apart.push_back(size(p, !pads));
    if (joined) {
      QC_ASSIGN(x, reshaped(to_, x, apart, loc()));
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].padded) continue;
      QC_ASSIGN(x, fitted(to_, x, static_cast<int64_t>(i), size(all[i], pads), all[i].size, nullptr,
                          loc()));
    }
    if (!joined) return x;
    const Dims shape = x->shape();
    size_t at = 0;
    for (const AxisParts& parts : padding) {
      Dim elements = shape[at++];
      for (size_t i = 1; i < parts.size(); ++i) elements = elements * shape[at++];
      together.push_back(elements);
    }
    return reshaped(to_, x, together, loc());
  }

  /// The value at the run's own sizes.
  Result<Value*> own(const Value* v) {
    if (!v) return static_cast<Value*>(nullptr);
    if (v->is_constant()) return to_.constant(v->constant(), v->type().format);
    Forms& f = forms_[v->number()];
    if (!f.own) {
      QC_ASSIGN(f.own, convert(f.padded, f.padding, false));
    }
    return f.own;
  }

  /// The value with padding; null where no axis like one of its was padded before.
  Result<Value*> padded(const Value* v) {
    if (!v) return static_cast<Value*>(nullptr);
    if (v->is_constant()) return to_.constant(v->constant(), v->type().format);
    Forms& f = forms_[v->number()];
    if (f.padded) return f.padded;
    Padding padding;
    for (const Dim& size : v->shape()) {
      const AxisParts* parts = known(size);
      if (dim_.in(size) && !parts) return static_cast<Value*>(nullptr);
      padding.push_back(dim_.in(size) ? *parts : AxisParts{});
    }
    QC_ASSIGN(f.padded, convert(f.own, padding, true));
    f.padding = std::move(padding);
    return f.padded;
  }

  bool touches(const Node& node) const {
    for (const Value* v : node.inputs()) {
      if (v && dim_.in(v->shape())) return true;
    }
    return depends_on(node, dim_);
  }

  /// Whether padding is worth trying: what only follows a node at the run's own size stays there.
  bool may_pad(const Node& node) const {
    std::unique_ptr<Node> copied = node.clone();
    if (capability<TakesPadding>(copied.get())) return true;
    bool any = false, from_padded = false;
    for (const Value* v : node.inputs()) {
      if (!v || v->is_constant() || !dim_.in(v->shape())) continue;
      any = true;
      const Forms& f = forms_[v->number()];
      from_padded = from_padded || f.padded || f.is_input;
    }
    return from_padded || !any;
  }

  Result<Ok> add(const Node& node) {
    if (!touches(node)) return add_own(node);
    if (may_pad(node)) {
      const Result<bool> done = add_padded(node);
      if (done.ok() && *done) {
        ++report_.padded;
        return Ok{};
      }
      if (!done.ok()) report_.refused.push_back(done.diag().text);
    }
    return add_own(node);
  }

  /// The node as it stands in the free graph.
  Result<Ok> add_own(const Node& node) {
    std::vector<Value*> operands;
    for (const Value* v : node.inputs()) {
      QC_ASSIGN(Value * x, own(v));
      operands.push_back(x);
    }
    QC_ASSIGN(Node * added, copied(node, node.clone(), operands));
    for (size_t i = 0; i < node.output_count(); ++i) {
      Value* y = added->output(i);
      Forms& f = forms_[node.output(i)->number()];
      f.own = y;
      if (!dim_.in(y->shape())) f.padded = y, f.padding.resize(y->shape().size());
    }
    return Ok{};
  }

  /// False where an operand has no padded form.
  Result<bool> add_padded(const Node& node) {
    std::vector<Value*> operands;
    std::vector<Padding> paddings;
    for (const Value* v : node.inputs()) {
      QC_ASSIGN(Value * x, padded(v));
      if (v && !x) return false;
      operands.push_back(x);
      paddings.push_back(padding_of(v));
    }
    PaddedNode padded(node, dim_, to_, std::move(operands), std::move(paddings));
    std::unique_ptr<Node> clone = node.clone();
    QC_TRY(pad(node, *clone, padded));
    QC_ASSIGN(Node * added, copied(node, std::move(clone), padded.operands()));
    for (size_t i = 0; i < node.output_count(); ++i)
      QC_TRY(check(node, node.output(i), added->output(i), padded, i));
    for (size_t i = 0; i < node.output_count(); ++i) {
      Forms& f = forms_[node.output(i)->number()];
      f.padded = added->output(i);
      f.padding = padded.results()[i];
      for (const AxisParts& parts : f.padding) know(parts);
      if (!dim_.in(node.output(i)->shape())) f.own = f.padded;
    }
    return true;
  }

  Result<Node*> copied(const Node& node, std::unique_ptr<Node> clone,
                       std::vector<Value*> operands) {
    for (const auto& region : node.regions()) {
      QC_ASSIGN(auto body, copy(*region));
      clone->add_region(std::move(body));
    }
    QC_ASSIGN(Node * added, to_.add(std::move(clone), std::move(operands), node.loc()));
    for (size_t i = 0; i < node.output_count(); ++i)
      to_.set_name(added->output(i), node.output(i)->name());
    return added;
  }

  /// Prepares operands and attributes of the copy, and says what of its results is padding.
  Result<Ok> pad(const Node& node, Node& copied, PaddedNode& padded) const {
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
                 "{} cannot be padded along '{}': {} does not become a size of the bucket",
                 node.op(), dim_.symbol, str(was->shape()));
  }

  Padding padding_of(const Value* v) const {
    if (!v) return {};
    return v->is_constant() ? Padding(v->shape().size()) : forms_[v->number()].padding;
  }

  const Graph& from_;
  const BucketedDim dim_;
  Graph& to_;
  PadReport& report_;
  std::vector<Forms> forms_;  // by number of the value in `from`
  std::vector<AxisParts> known_;
};

class Bucketer {
 public:
  explicit Bucketer(const std::vector<Buckets>& dims) : dims_(dims), reports_(dims.size()) {}

  /// Makes a graph compute in the buckets of all dimensions from `dim` on.
  Result<Ok> run(Graph& graph, size_t dim) {
    if (dim == dims_.size()) return Ok{};
    QC_ASSIGN(const std::vector<Value*> outputs, from_bucket(graph, graph, dim, 0));
    for (size_t i = 0; i < outputs.size(); ++i) graph.set_output(i, outputs[i]);
    graph.sweep();
    // With one bucket there is no choice, and so no region that has seen the other dimensions.
    return dims_[dim].sizes.size() == 1 ? run(graph, dim + 1) : Result<Ok>(Ok{});
  }

  /// Says which ops take the run's own size, and where that leaves nothing for buckets to do.
  void report(PassContext& context) const {
    for (size_t i = 0; i < dims_.size(); ++i) {
      for (const std::string& why : reports_[i].refused) {
        const std::string line = why + "; it takes the run's own size";
        if (std::ranges::find(context.remarks, line) == context.remarks.end())
          context.remarks.push_back(line);
      }
      // Each bucket has its own nodes: the same reasons once.
      const std::set<std::string> refused(reports_[i].refused.begin(), reports_[i].refused.end());
      if (reports_[i].padded > 0) {
        if (refused.empty()) continue;
        context.warnings.push_back(fmt::format(
            "{} kinds of layers are not padded to the buckets of '{}' and take the run's own "
            "size (-v names them): {}",
            refused.size(), dims_[i].symbol, *refused.begin()));
        continue;
      }
      context.warnings.push_back(
          fmt::format("buckets of '{0}' pad no layer: all take the run's own size. Leave out the "
                      "buckets: a range of '{0}' gives the same program once, not for each bucket",
                      dims_[i].symbol));
    }
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
    fits->sweep();
    QC_TRY(run(*fits, dim + 1));
    QC_ASSIGN(auto larger, region(model));
    QC_ASSIGN(auto rest, from_bucket(model, *larger, dim, i + 1));
    add_outputs(*larger, model, rest);
    larger->sweep();
    if (i + 2 == buckets.sizes.size()) QC_TRY(run(*larger, dim + 1));
    QC_ASSIGN(Node * chosen_node, chosen(to, Dim::symbol(buckets.symbol), buckets.sizes[i],
                                         std::move(fits), std::move(larger), inputs));
    std::vector<Value*> out;
    for (size_t o = 0; o < chosen_node->output_count(); ++o) out.push_back(chosen_node->output(o));
    return out;
  }

  Result<std::vector<Value*>> in_bucket(const Graph& model, Graph& to, size_t dim, size_t i) {
    const std::vector<Node*> nodes = model.nodes();
    spend(Cost::work, static_cast<int64_t>(nodes.size()) * kNodeWork);
    return Padder(model, {dims_[dim].symbol, dims_[dim].sizes[i]}, to, reports_[dim])
        .run(to.inputs(), nodes);
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
  std::vector<PadReport> reports_;  // of each dimension
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
  Bucketer bucketer(dims);
  QC_TRY(bucketer.run(graph, 0));
  bucketer.report(context);
  return true;
}

}  // namespace qc
