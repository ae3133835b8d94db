#include "driver/validate.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "driver/cuda_model.h"
#include "driver/in_process.h"
#include "driver/index_checks.h"
#include "driver/native.h"
#include "driver/tally.h"
#include "interp/interpreter.h"
#include "support/escape.h"
#include "target/target.h"

namespace qc {
namespace {

/// A way of running the model.
struct Way {
  std::string name;
  std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>&)> run;
};

Way interpreter_of(const Graph& graph, std::string name) {
  return {std::move(name), [&graph](const auto& inputs) -> Result<std::vector<Tensor>> {
            QC_TRY(check_indices(graph, inputs));
            RunOptions how;
            how.how.check_indices = true;
            QC_ASSIGN(RunResult result, interpret(graph, inputs, how));
            return std::move(result.outputs);
          }};
}

Result<Way> in_process(const Graph& graph, Options options, std::string name) {
  options.target = "native";  // it runs here, whatever code is generated for
  QC_ASSIGN(InProcess made, InProcess::create(graph, options, options.threads ? 3 : 0));
  auto shared = std::make_shared<const InProcess>(std::move(made));
  return Way{std::move(name), [shared](const auto& inputs) { return shared->run(inputs); }};
}

/// Builds the graph for the target.
Result<Way> native(const Graph& graph, Options options, const std::string& target,
                   const BuildOptions& build) {
  options.target = target;
  QC_ASSIGN(const Target known, find_target(target));
  if (known.language == Language::cuda) {
    QC_ASSIGN(CudaModel made, CudaModel::build(graph, options, build.host));
    return Way{target, [made = std::move(made)](const auto& inputs) -> Result<std::vector<Tensor>> {
                 QC_ASSIGN(NativeResult result, made.run(inputs));
                 return std::move(result.outputs);
               }};
  }
  if (!runs_here(known)) {
    return error(Code::unsupported,
                 "this machine does not run code for target {}: --target native validates the code "
                 "for this machine, which has the same bits; compile --vectors writes a test "
                 "program to run there",
                 target);
  }
  QC_ASSIGN(NativeModel made, NativeModel::build(graph, options, build));
  auto shared = std::make_shared<const NativeModel>(std::move(made));
  return Way{target, [shared](const auto& inputs) -> Result<std::vector<Tensor>> {
               QC_ASSIGN(NativeResult result, shared->run(inputs));
               return std::move(result.outputs);
             }};
}

/// A copy whose outputs are the results of every node, with the nodes they belong to.
Result<std::unique_ptr<Graph>> tapped(const Graph& graph,
                                      std::vector<std::pair<std::string, std::string>>& layers) {
  QC_ASSIGN(auto out, copy(graph));
  for (Node* n = out->first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      std::string name = fmt::format("{}", fmt::join(n->loc().names, "+"));
      out->add_output(fmt::format("tap{}", layers.size()), n->output(i));
      layers.emplace_back(std::move(name), std::string(n->op()));
    }
  }
  return out;
}

Result<Ok> compare_layers(const Graph& graph, const Options& options, const std::string& target,
                          const std::vector<Tensor>& inputs, const ValidateOptions& v,
                          Validation& out) {
  std::vector<std::pair<std::string, std::string>> layers;
  QC_ASSIGN(auto taps, tapped(graph, layers));
  QC_ASSIGN(RunResult reference, interpret(*taps, inputs));
  QC_ASSIGN(const Way way, native(*taps, options, target, v.build));
  QC_ASSIGN(const std::vector<Tensor> outputs, way.run(inputs));
  const size_t first = graph.outputs().size();
  for (size_t i = 0; i < layers.size(); ++i) {
    Difference d = compare(outputs[first + i], reference.outputs[first + i], {});
    if (d.bits_equal) continue;
    out.parting.push_back({target, layers[i].first, layers[i].second, d});
    return Ok{};
  }
  return Ok{};
}

/// Sample `i` of an array that holds all samples along axis 0, or along an extra axis in front of
/// the result's axes; nothing if the shapes do not match.
std::optional<Tensor> part_of(const Tensor& all, int64_t i, int64_t count,
                              const std::vector<int64_t>& shape) {
  if (count == 1) return all;
  std::vector<int64_t> stacked = shape, joined = shape;
  stacked.insert(stacked.begin(), count);
  if (!joined.empty()) joined[0] *= count;
  if (all.shape() != stacked && all.shape() != joined) return std::nullopt;
  const auto bytes = all.bytes().size() / static_cast<size_t>(count);
  return Tensor::borrow(all.dtype(), shape,
                        all.bytes().subspan(static_cast<size_t>(i) * bytes, bytes),
                        std::make_shared<Tensor>(all));
}

Result<std::vector<Tensor>> sample_of(const Graph& graph, const std::vector<Tensor>& all, int64_t i,
                                      int64_t count, const std::vector<Tensor>& like) {
  std::vector<Tensor> out;
  for (size_t k = 0; k < all.size(); ++k) {
    auto part = part_of(all[k], i, count, like[k].shape());
    if (!part) {
      return error(Code::input, Loc{graph.file, {graph.outputs()[k].name}, "output"},
                   "expected outputs of shape {} for {} samples of {}",
                   str(to_dims(all[k].shape())), count, str(to_dims(like[k].shape())));
    }
    out.push_back(std::move(*part));
  }
  return out;
}

/// Layers against what the references say of them.
class LayerBoard {
 public:
  LayerBoard(const Graph& graph, const References& references)
      : references_(references),
        graph_(references.layers ? *references.layers : graph),
        expected_(graph_, kExpected),
        floats_(graph_, kFloats) {
    for (const Node* n = graph_.first(); n; n = n->next()) {
      for (size_t i = 0; i < n->output_count() && !n->loc().names.empty(); ++i)
        shapes_[{n->loc().names.back(), i}] = n->output(i)->shape();
    }
  }

  /// `sample` of `count` in the set.
  Result<Ok> see(const std::vector<Tensor>& inputs, size_t set, int64_t sample, int64_t count) {
    NamedResults wanted;
    if (set < references_.arrays.size()) {
      QC_ASSIGN(wanted, arrays_of(references_.arrays[set], sample, count));
    }
    if (!wanted.of.empty()) QC_TRY(expected_.see(inputs, wanted));
    if (!references_.floats) return Ok{};
    QC_ASSIGN(const NamedResults floats, named_results(*references_.floats, inputs));
    return floats_.see(inputs, floats);
  }

  std::vector<LayerComparison> finish() const {
    std::vector<LayerComparison> out = expected_.layers();
    out.insert(out.end(), floats_.layers().begin(), floats_.layers().end());
    return out;
  }

 private:
  /// Those of the arrays that have the names of layers; of a layer's first result alone.
  Result<NamedResults> arrays_of(const std::vector<NamedArray>& arrays, int64_t sample,
                                 int64_t count) const {
    NamedResults out;
    for (const NamedArray& a : arrays) {
      const auto layer = shapes_.find({a.name, 0});
      if (layer == shapes_.end()) continue;
      const Dims& dims = layer->second;
      std::vector<int64_t> shape = a.tensor.shape();
      if (shape.size() == dims.size() + 1 && count > 1) {
        shape.erase(shape.begin());
      } else if (!shape.empty()) {
        shape[0] /= count;
      }
      const auto part = part_of(a.tensor, sample, count, shape);
      const bool fits =
          part && shape.size() == dims.size() &&
          std::equal(dims.begin(), dims.end(), shape.begin(),
                     [](const Dim& d, int64_t n) { return !d.is_static() || d.value() == n; });
      if (!fits) {
        return error(Code::input, Loc{graph_.file, {a.name}, "layer"},
                     "expected results of shape {} for {} samples of {}",
                     str(to_dims(a.tensor.shape())), count, str(dims));
      }
      out.of[layer->first].push_back(*part);
    }
    return out;
  }

  const References& references_;
  const Graph& graph_;
  LayerErrors expected_, floats_;
  std::map<NamedResults::Key, Dims> shapes_;
};

/// Tallies of every way against the references and the interpreter, in the order of the table.
class Board {
 public:
  Board(const Graph& graph, const References& references, const ValidateOptions& v)
      : graph_(graph), v_(v) {
    for (const std::vector<Tensor>& set : references.expected) {
      magnitudes_.resize(set.size());
      for (size_t i = 0; i < set.size(); ++i)
        magnitudes_[i] = std::max(magnitudes_[i], largest(set[i]));
    }
  }

  void see(const std::string& got_name, const std::string& want_name,
           const std::vector<Tensor>& got, const std::vector<Tensor>& want, int64_t sample,
           const Tensor* tokens) {
    for (size_t i = 0; i < want.size(); ++i) {
      tally(got_name, want_name, i).see(got[i], want[i], sample, tokens);
    }
  }

  std::vector<Comparison> finish() {
    std::vector<Comparison> out;
    for (Tally& t : tallies_) out.push_back(t.finish(v_));
    return out;
  }

 private:
  Tally& tally(const std::string& got, const std::string& want, size_t output) {
    const std::string& name = graph_.outputs()[output].name;
    for (Tally& t : tallies_) {
      if (t.is(got, want, name)) return t;
    }
    Tolerance tolerance;
    if (want == kExpected) {
      tolerance.rtol = v_.rtol.value_or(0);
      tolerance.atol = v_.atol.value_or(1e-4 * magnitudes_[output]);
    }
    return tallies_.emplace_back(got, want, name, tolerance);
  }

  const Graph& graph_;
  const ValidateOptions& v_;
  std::vector<double> magnitudes_;
  std::vector<Tally> tallies_;
};

/// The place of the input whose elements are the tokens; nothing where none is wanted.
Result<std::optional<size_t>> tokens_of(const Graph& graph, const ValidateOptions& v) {
  if (v.tokens.empty()) {
    if (!v.max_perplexity) return std::optional<size_t>();
    return error(Code::usage, Loc{graph.file, {}, {}},
                 "a bar for the perplexity needs the input that holds the tokens (--perplexity)");
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = *graph.inputs()[i];
    if (input.name() == v.tokens && is_integer(input.dtype())) return std::optional(i);
    names.push_back(fmt::format("{}: {}", input.name(), str(input.type())));
  }
  return error(Code::usage, Loc{graph.file, {}, {}},
               "no input of integers is named '{}', whose elements would be the tokens (inputs: "
               "{})",
               v.tokens, fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> failures(const Validation& v) {
  std::vector<std::string> out;
  for (const Comparison& c : v.comparisons) {
    for (const std::string& why : c.failed)
      out.push_back(
          fmt::format("{} against {}, output '{}': {}", c.got, c.want, shown(c.output), why));
  }
  return out;
}

std::vector<LayerComparison> first_bad(const Validation& v) {
  std::vector<LayerComparison> out;
  for (const LayerComparison& l : v.layers) {
    const bool met = !out.empty() && out.back().against == l.against;
    if (!met && l.error && l.error->sqnr_db() < v.bad_db) out.push_back(l);
  }
  return out;
}

Result<Validation> validate(const Graph& graph, const Options& options, Samples samples,
                            const References& references, const ValidateOptions& v) {
  const std::vector<Tensor> first = samples.first();
  QC_ASSIGN(const std::optional<size_t> tokens, tokens_of(graph, v));
  QC_ASSIGN(const std::vector<Bindings> sizes, sizes_of(graph, samples));
  std::vector<Way> ways = {interpreter_of(graph, kInterpreter)};
  QC_ASSIGN(Way kernels, in_process(graph, options, "in process"));
  ways.push_back(std::move(kernels));
  const std::vector<std::string> targets =
      v.targets.empty() ? std::vector{implied(options).target} : v.targets;
  for (const std::string& target : targets) {
    QC_ASSIGN(Way way, native(graph, options, target, v.build));
    ways.push_back(std::move(way));
  }
  std::optional<Way> floats;
  if (references.floats) {
    QC_ASSIGN(floats, in_process(*references.floats, options, kFloats));
  }
  Validation out;
  out.samples = samples.count();
  if (v.min_sqnr) out.bad_db = *v.min_sqnr;
  Board board(graph, references, v);
  LayerBoard layers(graph, references);
  int64_t s = 0;
  const auto compare = [&](const std::vector<Tensor>& inputs, size_t set, int64_t i,
                           int64_t count) -> Result<Ok> {
    std::vector<Tensor> expected, plain, reference;
    const Tensor* next = tokens ? &inputs[*tokens] : nullptr;
    if (floats) {
      QC_ASSIGN(plain, floats->run(inputs));
    }
    if (v.per_layer) QC_TRY(layers.see(inputs, set, i, count));
    for (const Way& way : ways) {
      QC_ASSIGN(const std::vector<Tensor> got, way.run(inputs));
      if (!references.expected.empty()) {
        QC_ASSIGN(expected, sample_of(graph, references.expected[set], i, count, got));
        board.see(way.name, kExpected, got, expected, s, next);
      }
      if (floats) board.see(way.name, kFloats, got, plain, s, next);
      if (way.name == kInterpreter) {
        reference = got;
      } else {
        board.see(way.name, kInterpreter, got, reference, s, next);
      }
    }
    return Ok{};
  };
  for (size_t k = 0; k < samples.sets().size(); ++k) {
    const int64_t count = samples.sets()[k].count;
    if (samples.sets().size() > 1) out.sets.push_back({s, count, str(sizes[k])});
    for (int64_t i = 0; i < count; ++i, ++s) {
      QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
      QC_TRY(for_sample([&] { return compare(inputs, k, i, count); }));
    }
  }
  out.comparisons = board.finish();
  out.layers = layers.finish();
  bool predicted = !tokens;
  for (const Comparison& c : out.comparisons) {
    out.ok = out.ok && c.ok;
    predicted = predicted || (c.perplexity && c.perplexity->tokens > 0);
  }
  if (!predicted) {
    return error(Code::usage, Loc{graph.file, {v.tokens}, "input"},
                 "no output scores the token after each of these: its shape would be theirs and "
                 "the vocabulary, and they at least two");
  }
  for (const std::string& target : targets) {
    if (v.per_layer) QC_TRY(compare_layers(graph, options, target, first, v, out));
  }
  return out;
}

}  // namespace qc
