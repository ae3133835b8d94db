#include "driver/equalise.h"

#include <cmath>

#include "ir/op_table.h"
#include "quant/constants.h"
#include "quant/groups.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

/// Constant f32 weights with the channel of the result and of operand 0 that each belongs to. In
/// groups, one axis of the weights has all channels and the other those of a group.
struct Weights {
  Node* node = nullptr;
  const Value* value = nullptr;
  Tensor tensor;
  int64_t out_axis = 0, in_axis = 1;
  int64_t outputs = 0, inputs = 0;  // channels of the result and of operand 0

  int64_t size(int64_t axis) const { return tensor.shape().at(static_cast<size_t>(axis)); }
  int64_t out_groups() const { return outputs / size(out_axis); }  // 1 unless transposed
  int64_t in_groups() const { return inputs / size(in_axis); }
  bool fits() const {
    const int64_t out = size(out_axis), in = size(in_axis);
    return out > 0 && in > 0 && outputs % out == 0 && inputs % in == 0 && in % out_groups() == 0 &&
           out % in_groups() == 0;
  }

  template <class F>
  void for_each(F&& visit) const {
    const Ints& shape = tensor.shape();
    auto inner = [&](int64_t axis) {
      int64_t n = 1;
      for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) n *= shape[i];
      return n;
    };
    const int64_t by_out = inner(out_axis), by_in = inner(in_axis);
    const int64_t out = size(out_axis), in = size(in_axis);
    const int64_t outs_in_group = out / in_groups(), ins_in_group = in / out_groups();
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const int64_t o = i / by_out % out, k = i / by_in % in;
      visit(i, o + (out < outputs ? k / ins_in_group * out : 0),
            k + (in < inputs ? o / outs_in_group * in : 0));
    }
  }
};

/// -1 where the node has no such axis.
int64_t channel_axis(Node& node) {
  auto* host = capability<AbsorbsScaleShift>(&node);
  return host ? host->input_channel_axis() : -1;
}

bool is_f32_constant(const Value* v) { return v && v->is_constant() && v->dtype() == DType::f32; }

/// None where the node has no constant weights of this kind.
Result<std::optional<Weights>> weights_of(Graph& graph, Node& node) {
  const std::optional<Weights> none;
  const auto* quantizable = capability<Quantizable>(&node);
  if (!quantizable || quantizable->weight_operand() < 0 || quantizable->bias_operand() < 0)
    return none;
  const Value* w = node.input(static_cast<size_t>(quantizable->weight_operand()));
  auto* host = capability<AbsorbsScaleShift>(&node);
  if (!is_f32_constant(w) || !host) return none;
  const auto b = static_cast<size_t>(quantizable->bias_operand());
  if (b < node.input_count() && node.input(b) && !is_f32_constant(node.input(b))) return none;
  const auto channels = [](const Value* v, int64_t axis) {
    return v->shape().at(static_cast<size_t>(axis));
  };
  const Dim inputs = channels(node.input(0), host->input_channel_axis());
  const Dim outputs = channels(node.output(), host->output_channel_axis());
  if (!inputs.is_static() || !outputs.is_static() || node.input(0)->is_constant()) return none;
  Weights out;
  out.node = &node;
  out.value = w;
  out.out_axis = quantizable->weight_channel_axis();
  out.in_axis = quantizable->weight_sum_axis();
  QC_ASSIGN(out.tensor, graph.pool().get(w->constant()));
  out.outputs = outputs.value();
  out.inputs = inputs.value();
  return out.fits() ? std::optional<Weights>(std::move(out)) : none;
}

std::vector<double> largest(const Weights& w, bool of_outputs) {
  std::vector<double> out(static_cast<size_t>(of_outputs ? w.outputs : w.inputs), 0);
  w.for_each([&](int64_t i, int64_t o, int64_t k) {
    double& m = out[static_cast<size_t>(of_outputs ? o : k)];
    m = std::max(m, std::abs(static_cast<double>(w.tensor.data<float>()[i])));
  });
  return out;
}

Tensor f32_list(const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return Tensor::of<float>(DType::f32, {static_cast<int64_t>(floats.size())},
                           std::span<const float>(floats));
}

/// One trade between a pair; how far the multipliers are from 1.
double trade(Weights& a, Weights& b, Multipliers& ma, Multipliers& mb) {
  const std::vector<double> ra = largest(a, true), rb = largest(b, false);
  std::vector<double> s(ra.size(), 1);
  double moved = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (ra[i] > 0 && rb[i] > 0) s[i] = std::clamp(std::sqrt(rb[i] / ra[i]), 1e-4, 1e4);
    moved = std::max(moved, std::abs(std::log(s[i])));
    ma.output[i] *= s[i];
    mb.input[i] /= s[i];
  }
  float* wa = a.tensor.mutable_data<float>();
  a.for_each([&](int64_t i, int64_t o, int64_t) {
    wa[i] *= static_cast<float>(s[static_cast<size_t>(o)]);
  });
  float* wb = b.tensor.mutable_data<float>();
  b.for_each([&](int64_t i, int64_t, int64_t k) {
    wb[i] /= static_cast<float>(s[static_cast<size_t>(k)]);
  });
  return moved;
}

}  // namespace

Result<Changes> equalise(Graph& graph, const std::function<bool(Node&)>& changeable) {
  std::map<const Node*, Weights> weights;
  for (Node* n = graph.first(); n; n = n->next()) {
    if (!changeable(*n)) continue;
    QC_ASSIGN(auto found, weights_of(graph, *n));
    if (found) weights.emplace(n, std::move(*found));
  }
  std::vector<std::pair<const Node*, const Node*>> pairs;
  for (Node* n = graph.first(); n; n = n->next()) {
    if (weights.count(n) == 0 || !n->output()->has_one_use() || !limits_scale(*n)) continue;
    Node* reader = n->output()->first_use()->user;
    if (weights.count(reader) == 0 || reader->input(0) != n->output()) continue;
    const auto* host = capability<AbsorbsScaleShift>(n);
    if (channel_axis(*reader) == host->output_channel_axis()) pairs.emplace_back(n, reader);
  }
  Changes out;
  for (const auto& [a, b] : pairs) {
    out[a].output.assign(static_cast<size_t>(weights.at(a).outputs), 1);
    out[b].input.assign(static_cast<size_t>(weights.at(b).inputs), 1);
  }
  for (int round = 0; round < 20; ++round) {
    double moved = 0;
    for (const auto& [a, b] : pairs) {
      moved = std::max(moved, trade(weights.at(a), weights.at(b), out[a], out[b]));
    }
    if (moved < 1e-3) break;
  }
  for (const auto& [node, m] : out) {
    WeightChange change;
    if (!m.output.empty()) change.output_multiplier = f32_list(m.output);
    if (!m.input.empty()) change.input_multiplier = f32_list(m.input);
    QC_TRY(change_weights(graph, *weights.at(node).node, change));
  }
  return out;
}

std::set<ChannelAxis> weighted_inputs(const Graph& graph) {
  std::set<ChannelAxis> out;
  for (Node* n = graph.first(); n; n = n->next()) {
    const auto* quantizable = capability<Quantizable>(n);
    if (!quantizable || quantizable->weight_operand() < 0 || quantizable->bias_operand() < 0)
      continue;
    const int64_t axis = channel_axis(*n);
    if (axis >= 0 && n->input(0)->dtype() == DType::f32) out.insert({n->input(0), axis});
  }
  return out;
}

namespace {

/// The share of the weights of its channel that an element of the result meets on average: 1, and
/// less where a transposed convolution spreads its operand.
double taps_met(const Node& node, const Weights& w) {
  const Dim elements = product(node.output()->shape());
  const int64_t macs = node.macs();
  if (!elements.is_static() || elements.value() < 1 || macs < 1) return 1;
  return static_cast<double>(macs) * static_cast<double>(w.outputs) /
         (static_cast<double>(elements.value()) * static_cast<double>(w.tensor.size()));
}

}  // namespace

Result<std::vector<double>> mean_weight_error(Graph& graph, Node& node, const WeightScheme& scheme,
                                              const Watched& watched) {
  QC_ASSIGN(const auto found, weights_of(graph, node));
  const ChannelMeans* means = found ? watched.means(node.input(0), channel_axis(node)) : nullptr;
  if (!means) return std::vector<double>{};
  const Weights& w = *found;
  QC_ASSIGN(const QType type,
            weight_format(graph, w.value, scheme, w.out_axis, w.in_axis, node.loc()));
  Graph alone(graph.shared_pool());
  Value* codes = quantized_constant(alone, alone.constant(w.value->constant()), type);
  QC_ASSIGN(const Tensor q, graph.pool().get(codes->constant()));
  std::vector<double> error(static_cast<size_t>(w.tensor.size()));
  Groups(codes->type()).for_each([&](int64_t i, int64_t g) {
    const double decoded = static_cast<double>(q.as_int(i) - type.format->zero_at(g)) *
                           static_cast<double>(type.format->scale_at(g));
    error[static_cast<size_t>(i)] = decoded - static_cast<double>(w.tensor.data<float>()[i]);
  });
  std::vector<double> out(static_cast<size_t>(w.outputs), 0);
  const double share = taps_met(node, w);
  w.for_each([&](int64_t i, int64_t o, int64_t k) {
    out[static_cast<size_t>(o)] -=
        error[static_cast<size_t>(i)] * means->mean(static_cast<size_t>(k)) * share;
  });
  for (const double v : out) {
    if (!std::isfinite(static_cast<float>(v))) return std::vector<double>{};
  }
  return out;
}

}  // namespace qc
