#include "driver/validate.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "driver/in_process.h"
#include "driver/native.h"
#include "driver/tally.h"
#include "interp/interpreter.h"

namespace qc {
namespace {

/// A way of running the model.
struct Way {
  std::string name;
  std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>&)> run;
};

Way interpreter_of(const Graph& graph, std::string name) {
  return {std::move(name), [&graph](const auto& inputs) -> Result<std::vector<Tensor>> {
            QC_ASSIGN(RunResult result, interpret(graph, inputs));
            return std::move(result.outputs);
          }};
}

Result<Way> in_process(const Graph& graph, Options options, const std::vector<Tensor>& like,
                       std::string name) {
  options.target = "native";  // it runs here, whatever code is generated for
  QC_ASSIGN(InProcess made, InProcess::create(graph, options, like, options.threads ? 3 : 0));
  auto shared = std::make_shared<const InProcess>(std::move(made));
  return Way{std::move(name), [shared](const auto& inputs) { return shared->run(inputs); }};
}

/// Builds the graph for the target.
Result<Way> native(const Graph& graph, Options options, const std::string& target,
                   const BuildOptions& build) {
  options.target = target;
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
    out.layers.push_back({target, layers[i].first, layers[i].second, d});
    return Ok{};
  }
  return Ok{};
}

/// What belongs to sample `i` of arrays that hold all of them along axis 0, or along an axis in
/// front of the output's own.
Result<std::vector<Tensor>> sample_of(const Graph& graph, const std::vector<Tensor>& all, int64_t i,
                                      int64_t count, const std::vector<Tensor>& like) {
  if (count == 1) return all;
  std::vector<Tensor> out;
  for (size_t k = 0; k < all.size(); ++k) {
    const std::vector<int64_t>& shape = like[k].shape();
    std::vector<int64_t> stacked = shape, joined = shape;
    stacked.insert(stacked.begin(), count);
    if (!joined.empty()) joined[0] *= count;
    if (all[k].shape() != stacked && all[k].shape() != joined) {
      return error(Code::input, Loc{graph.file, {graph.outputs()[k].name}, "output"},
                   "expected outputs of shape {} for {} samples of {}",
                   str(to_dims(all[k].shape())), count, str(to_dims(shape)));
    }
    const auto bytes = all[k].bytes().size() / static_cast<size_t>(count);
    out.push_back(Tensor::borrow(all[k].dtype(), shape,
                                 all[k].bytes().subspan(static_cast<size_t>(i) * bytes, bytes),
                                 std::make_shared<Tensor>(all[k])));
  }
  return out;
}

/// Tallies of every way against the references and the interpreter, in the order of the table.
class Board {
 public:
  Board(const Graph& graph, const References& references, const ValidateOptions& v)
      : graph_(graph), v_(v) {
    if (references.expected) {
      for (const Tensor& t : *references.expected) magnitudes_.push_back(largest(t));
    }
  }

  void see(const std::string& got_name, const std::string& want_name,
           const std::vector<Tensor>& got, const std::vector<Tensor>& want, int64_t sample) {
    for (size_t i = 0; i < want.size(); ++i) {
      tally(got_name, want_name, i).see(got[i], want[i], sample);
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

}  // namespace

Result<Validation> validate(const Graph& graph, const Options& options, Samples samples,
                            const References& references, const ValidateOptions& v) {
  const std::vector<Tensor> first = samples.first();
  std::vector<Way> ways = {interpreter_of(graph, kInterpreter)};
  QC_ASSIGN(Way kernels, in_process(graph, options, first, "in process"));
  ways.push_back(std::move(kernels));
  for (const std::string& target : v.targets) {
    QC_ASSIGN(Way way, native(graph, options, target, v.build));
    ways.push_back(std::move(way));
  }
  std::optional<Way> floats;
  if (references.floats) {
    QC_ASSIGN(floats, in_process(*references.floats, options, first, kFloats));
  }
  Validation out;
  out.samples = samples.count();
  Board board(graph, references, v);
  for (int64_t s = 0; s < out.samples; ++s) {
    QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
    std::vector<Tensor> expected, plain, reference;
    if (floats) {
      QC_ASSIGN(plain, floats->run(inputs));
    }
    for (const Way& way : ways) {
      QC_ASSIGN(const std::vector<Tensor> got, way.run(inputs));
      if (references.expected) {
        QC_ASSIGN(expected, sample_of(graph, *references.expected, s, out.samples, got));
        board.see(way.name, kExpected, got, expected, s);
      }
      if (floats) board.see(way.name, kFloats, got, plain, s);
      if (way.name == kInterpreter) {
        reference = got;
      } else {
        board.see(way.name, kInterpreter, got, reference, s);
      }
    }
  }
  out.comparisons = board.finish();
  for (const Comparison& c : out.comparisons) out.ok = out.ok && c.ok;
  for (const std::string& target : v.targets) {
    if (v.per_layer) QC_TRY(compare_layers(graph, options, target, first, v, out));
  }
  return out;
}

}  // namespace qc
