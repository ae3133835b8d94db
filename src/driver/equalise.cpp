#include "driver/equalise.h"

#include <cmath>

#include "ir/op_table.h"
#include "quant/constants.h"
#include "quant/groups.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

/// Constant f32 weights with the channel of the result and of operand 0 that each belongs to.
struct Weights {
  Node* node = nullptr;
  const Value* value = nullptr;
  Tensor tensor;
  int64_t out_axis = 0, in_axis = 1;
  int64_t outputs = 0, per_group = 0, inputs = 0;

  template <class F>
  void for_each(F&& visit) const {
    const Ints& shape = tensor.shape();
    auto inner = [&](int64_t axis) {
      int64_t n = 1;
      for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) n *= shape[i];
      return n;
    };
    const int64_t by_out = inner(out_axis), by_in = inner(in_axis);
    const int64_t groups = std::max<int64_t>(inputs / per_group, 1);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const int64_t o = i / by_out % outputs;
      visit(i, o, i / by_in % per_group + o / (outputs / groups) * per_group);
    }
  }
};

int64_t channel_axis(Node& node) {
  auto* host = capability<AbsorbsScaleShift>(&node);
  if (!host) return -1;
  const int64_t axis = host->input_channel_axis();
  return axis < 0 ? axis + node.input(0)->rank() : axis;
}

/// None where the node has no constant weights of this kind.
Result<std::optional<Weights>> weights_of(Graph& graph, Node& node) {
  const std::optional<Weights> none;
  const auto* form = capability<Quantizable>(&node);
  if (!form || form->weight_operand() < 0 || form->bias_operand() < 0) return none;
  const Value* w = node.input(static_cast<size_t>(form->weight_operand()));
  const int64_t axis = channel_axis(node);
  if (!w || !w->is_constant() || w->dtype() != DType::f32 || axis < 0) return none;
  const Dim& inputs = node.input(0)->shape().at(static_cast<size_t>(axis));
  if (!inputs.is_static() || node.input(0)->is_constant()) return none;
  Weights out;
  out.node = &node;
  out.value = w;
  out.out_axis = form->weight_channel_axis();
  out.in_axis = form->weight_sum_axis();
  QC_ASSIGN(out.tensor, graph.pool().get(w->constant()));
  out.outputs = out.tensor.shape().at(static_cast<size_t>(out.out_axis));
  out.per_group = out.tensor.shape().at(static_cast<size_t>(out.in_axis));
  out.inputs = inputs.value();
  if (out.outputs < 1 || out.per_group < 1 || out.inputs % out.per_group != 0 ||
      out.outputs % (out.inputs / out.per_group) != 0) {
    return none;
  }
  return std::optional<Weights>(std::move(out));
}

bool is_homogeneous(const Node& node) {
  for (const auto& [name, value] : get_attrs(node, true)) {
    const double* limit = std::get_if<double>(&value);
    if (limit && name == "lo" && *limit != 0 && *limit != -kInf) return false;
    if (limit && name == "hi" && *limit != kInf) return false;
  }
  return true;
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

Result<Changes> equalise(Graph& graph) {
  std::map<const Node*, Weights> weights;
  for (Node* n = graph.first(); n; n = n->next()) {
    QC_ASSIGN(auto found, weights_of(graph, *n));
    if (found) weights.emplace(n, std::move(*found));
  }
  std::vector<std::pair<const Node*, const Node*>> pairs;
  for (Node* n = graph.first(); n; n = n->next()) {
    if (weights.count(n) == 0 || !n->output()->has_one_use() || !is_homogeneous(*n)) continue;
    const Node* reader = n->output()->first_use()->user;
    if (weights.count(reader) == 0 || reader->input(0) != n->output()) continue;
    if (weights.at(reader).inputs == weights.at(n).outputs) pairs.emplace_back(n, reader);
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

std::map<const Value*, int64_t> weighted_inputs(const Graph& graph) {
  std::map<const Value*, int64_t> out;
  for (Node* n = graph.first(); n; n = n->next()) {
    const auto* form = capability<Quantizable>(n);
    if (!form || form->weight_operand() < 0 || form->bias_operand() < 0) continue;
    const int64_t axis = channel_axis(*n);
    if (axis >= 0 && n->input(0)->dtype() == DType::f32) out[n->input(0)] = axis;
  }
  return out;
}

Result<std::vector<double>> mean_weight_error(Graph& graph, Node& node, const WeightScheme& scheme,
                                              const Watched& watched) {
  QC_ASSIGN(const auto found, weights_of(graph, node));
  const ChannelMeans* means = found ? watched.means(node.input(0)) : nullptr;
  if (!means || means->count == 0) return std::vector<double>{};
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
  w.for_each([&](int64_t i, int64_t o, int64_t k) {
    const double mean = means->sums[static_cast<size_t>(k)] / static_cast<double>(means->count);
    out[static_cast<size_t>(o)] -= error[static_cast<size_t>(i)] * mean;
  });
  return out;
}

}  // namespace qc
