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
  bool own_size = false;  // what cannot be padded takes the run's own size
};

/// What became of the nodes of all buckets.
struct PadReport {
  size_t padded = 0;
  std::vector<std::string> refused;  // nodes that could not be padded, and why; each once
  std::set<std::string> tables;      // nodes on sizes alone that take the run's own

  void refuse(const Diag& why) {
    const std::string& name = why.loc.names.empty() ? std::string() : why.loc.names[0];
    std::string line = name.empty() ? why.text : name + ": " + why.text;
    if (std::ranges::find(refused, line) == refused.end()) refused.push_back(std::move(line));
  }
};

/// A value of the model in the graph of a bucket: with padding, at the run's own sizes, or both
/// where somebody asked for the other form. The same where the dimension is in no size of it.
struct Versions {
  Value* padded = nullptr;
  Value* own = nullptr;
  Padding padding;
  bool is_input = false;
  bool refused = false;  // made by a node that could not be padded
};

/// Adds what `from` computes to `to`, with a dimension fixed to a bucket. Nodes that cannot be
/// padded take their operands at the run's own size, as in the graph that is free.
class Padder {
 public:
  Padder(const Graph& from, BucketedDim dim, Graph& to, PadReport& report)
      : from_(from),
        dim_(std::move(dim)),
        to_(to),
        report_(report),
        versions_(from.value_bound()),
        from_data_(from.value_bound()) {
    for (const Value* v : from.inputs()) from_data_[v->number()] = true;
  }

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
    Versions& f = versions_[input->number()];
    f = {nullptr, x, {}, true, false};
    if (!dim_.in(input->shape())) f.padded = x, f.padding.resize(input->shape().size());
  }

  /// Axes that were padded before: only such are padded again, as they are the larger the larger
  /// the dimension.
  void know(const AxisSegments& parts) {
    if (parts.empty() || std::find(known_.begin(), known_.end(), parts) != known_.end()) return;
    known_.push_back(parts);
  }
  const AxisSegments* known(const Dim& size) const {
    for (const AxisSegments& parts : known_) {
      Dim elements(1);
      for (const AxisSegment& p : parts) elements = elements * p.size;
      if (elements == size) return &parts;
    }
    return nullptr;
  }

  /// Pads a value along the axes that have parts, or cuts it back.
  Result<Value*> convert(Value* x, const Padding& padding, bool pads) {
    const auto pad = [&](Value* v, int64_t axis, const AxisSegment& p) {
      return fitted(to_, v, axis, pads ? dim_.resized(p.size) : p.size, p.size, {}, loc());
    };
    return pad_factors(to_, x, padding, dim_, pads, pad, loc());
  }

  /// The value at the run's own sizes.
  Result<Value*> own(const Value* v) {
    if (!v) return static_cast<Value*>(nullptr);
    if (v->is_constant()) return to_.constant(v->constant(), v->type().format);
    Versions& f = versions_[v->number()];
    if (!f.own) {
      QC_ASSIGN(f.own, convert(f.padded, f.padding, false));
    }
    return f.own;
  }

  /// The value with padding; null where no axis like one of its was padded before.
  Result<Value*> padded(const Value* v) {
    if (!v) return static_cast<Value*>(nullptr);
    if (v->is_constant()) return to_.constant(v->constant(), v->type().format);
    Versions& f = versions_[v->number()];
    if (f.padded) return f.padded;
    Padding padding;
    for (const Dim& size : v->shape()) {
      const AxisSegments* parts = known(size);
      if (dim_.in(size) && !parts) return static_cast<Value*>(nullptr);
      padding.push_back(dim_.in(size) ? *parts : AxisSegments{});
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
      const Versions& f = versions_[v->number()];
      from_padded = from_padded || f.padded || f.is_input;
    }
    return from_padded || !any;
  }

  /// Whether elements of the inputs take part in it; if not, its results follow from sizes alone.
  bool note_data(const Node& node) {
    bool data = node.info().has(kRandom);
    for (const Value* v : node.inputs())
      data = data || (v && !v->is_constant() && from_data_[v->number()]);
    for (size_t i = 0; i < node.output_count(); ++i) from_data_[node.output(i)->number()] = data;
    return data;
  }

  /// Whether an operand has no padded form since the node that makes it could not be padded.
  bool follows_refused(const Node& node) const {
    const std::vector<Value*> inputs = node.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value* v) {
      return v && !v->is_constant() && versions_[v->number()].refused &&
             !versions_[v->number()].padded;
    });
  }

  Result<Ok> add(const Node& node) {
    const bool data = note_data(node);
    if (!touches(node)) return add_own(node);
    if (may_pad(node)) {
      const Result<Ok> done = add_padded(node);
      if (done.ok()) {
        ++report_.padded;
        return Ok{};
      }
      // Tables and masks that only sizes make are no work of a layer, and what a node that was
      // refused makes is refused with it.
      if (data && !follows_refused(node)) report_.refuse(done.diag());
      if (!data) report_.tables.insert(std::string(node.op()));
      for (size_t i = 0; data && i < node.output_count(); ++i)
        versions_[node.output(i)->number()].refused = true;
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
    QC_ASSIGN(Node * added, add_copy(to_, node, node.clone(), operands));
    for (size_t i = 0; i < node.output_count(); ++i) {
      Value* y = added->output(i);
      Versions& f = versions_[node.output(i)->number()];
      f.own = y;
      if (!dim_.in(y->shape())) f.padded = y, f.padding.resize(y->shape().size());
    }
    return Ok{};
  }

  Result<Ok> add_padded(const Node& node) {
    std::vector<Value*> operands;
    std::vector<Padding> paddings;
    for (const Value* v : node.inputs()) {
      QC_ASSIGN(Value * x, padded(v));
      if (v && !x) {
        return error(Code::unsupported, node.loc(),
                     "{} cannot be padded along '{}': an operand of shape {} has no size of the "
                     "bucket",
                     node.op(), dim_.symbol, str(v->shape()));
      }
      operands.push_back(x);
      paddings.push_back(padding_of(v));
    }
    PaddedNode padded(node, dim_, to_, std::move(operands), std::move(paddings));
    QC_ASSIGN(const std::vector<Value*> results, padded.add());
    for (size_t i = 0; i < node.output_count(); ++i) {
      Versions& f = versions_[node.output(i)->number()];
      f.padded = results[i];
      f.padding = padded.results()[i];
      for (const AxisSegments& parts : f.padding) know(parts);
      if (!dim_.in(node.output(i)->shape())) f.own = f.padded;
    }
    return Ok{};
  }

  Padding padding_of(const Value* v) const {
    if (!v) return {};
    return v->is_constant() ? Padding(v->shape().size()) : versions_[v->number()].padding;
  }

  const Graph& from_;
  const BucketedDim dim_;
  Graph& to_;
  PadReport& report_;
  std::vector<Versions> versions_;  // by number of the value in `from`
  std::vector<bool> from_data_;     // the same: whether elements of inputs take part in it
  std::vector<AxisSegments> known_;
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

  /// An error that names what cannot be padded; of dimensions that allow it, which layers take the
  /// run's own size, and where that leaves nothing for buckets to do.
  Result<Ok> report(PassContext& context, const Loc& file) const {
    for (size_t i = 0; i < dims_.size(); ++i) {
      const PadReport& r = reports_[i];
      for (const std::string& op : r.tables) {
        context.remarks.push_back(
            fmt::format("{} on sizes alone takes the run's own size of '{}': it makes a table", op,
                        dims_[i].symbol));
      }
      if (!r.refused.empty() && !dims_[i].own_size) return refusal(dims_[i].symbol, r, file);
      for (const std::string& why : r.refused)
        context.remarks.push_back(why + "; it takes the run's own size");
      if (r.padded > 0) continue;
      context.warnings.push_back(
          fmt::format("buckets of '{0}' pad no layer: all take the run's own size. Leave out the "
                      "buckets: a range of '{0}' gives the same program once, not for each bucket",
                      dims_[i].symbol));
    }
    return Ok{};
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
    auto out = model.new_region();
    out->file = model.file;
    out->dim_ranges = model.dim_ranges;
    for (const Value* v : model.inputs()) out->add_input(v->name(), v->type());
    return out;
  }
  static void add_outputs(Graph& to, const Graph& model, const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) to.add_output(model.outputs()[i].name, values[i]);
  }

  static Diag refusal(const std::string& symbol, const PadReport& report, const Loc& file) {
    Diag diag = error(
        Code::unsupported, file,
        "{} layer{} cannot be padded to the buckets of '{}': leave out the buckets, so that all "
        "layers take the run's own size, or write ':buckets:own-size', so that these do",
        report.refused.size(), report.refused.size() == 1 ? "" : "s", symbol);
    diag.notes = report.refused;
    return diag;
  }

  const std::vector<Buckets>& dims_;
  std::vector<PadReport> reports_;  // of each dimension
};

}  // namespace

Result<bool> pad_to_buckets(Graph& graph, PassContext& context) {
  const std::vector<std::string> symbols = graph.symbols();
  std::vector<Buckets> dims;
  for (const auto& [symbol, buckets] : context.buckets) {
    if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end() &&
        !buckets.sizes.empty())
      dims.push_back({symbol, buckets.sizes, buckets.own_size});
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
  QC_TRY(bucketer.report(context, Loc{graph.file, {}, {}}));
  return true;
}

}  // namespace qc
