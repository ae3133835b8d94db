#include "tests/random/quantized.h"

#include <cmath>
#include <map>

#include "interp/interpreter.h"
#include "passes/fold_qdq.h"
#include "quant/constants.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

/// Ops that quantized networks are made of; those named twice come twice as often.
const std::vector<std::string>& building_blocks() {
  static const std::vector<std::string> ops = {"conv",         "conv",         "conv_transpose",
                                               "linear",       "linear",       "matmul",
                                               "add",          "add",          "add",
                                               "sub",          "mul",          "mul",
                                               "mul",          "clamp",        "max_pool",
                                               "average_pool", "average_pool", "average_pool",
                                               "reduce_mean",  "reduce_mean",  "reduce_sum",
                                               "reduce_max",   "concat",       "concat",
                                               "pad",          "resize",       "softmax",
                                               "layer_norm",   "group_norm",   "rms_norm",
                                               "tanh",         "sigmoid",      "gelu",
                                               "silu",         "leaky_relu",   "exp",
                                               "rnn",          "gru",          "lstm",
                                               "reshape",      "transpose",    "slice",
                                               "expand",       "tile",         "gather",
                                               "where",        "max",          "min",
                                               "argmax",       "div"};
  return ops;
}

struct Range {
  double lo = 0, hi = 0;
};

/// What the f32 values of a graph reach on its random inputs.
std::map<const Value*, Range> watch(const Graph& graph, uint64_t seed) {
  std::map<const Value*, Range> out;
  auto watched = copy(graph);
  if (!watched.ok()) return out;
  Graph& g = **watched;
  std::vector<const Value*> order;
  const Node* mine = graph.first();
  for (Node* n = g.first(); n; n = n->next(), mine = mine->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      if (n->output(i)->dtype() != DType::f32) continue;
      g.add_output("w" + std::to_string(order.size()), n->output(i));
      order.push_back(mine->output(i));
    }
  }
  const std::vector<Tensor> inputs = random_tensors(graph, seed);
  auto run = interpret(g, inputs);
  if (!run.ok()) return out;
  auto see = [&](const Value* v, const Tensor& t) {
    for (int64_t i = 0; i < t.size(); ++i) {
      const double x = t.as_double(i);
      if (!std::isfinite(x)) continue;
      out[v].lo = std::min(out[v].lo, x);
      out[v].hi = std::max(out[v].hi, x);
    }
  };
  const size_t own = run->outputs.size() - order.size();
  for (size_t i = 0; i < order.size(); ++i) see(order[i], run->outputs[own + i]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == DType::f32) see(graph.inputs()[i], inputs[i]);
  }
  return out;
}

class Quantizing {
 public:
  /// With `ties` all values have one type of 8 bits and scales that make near ties.
  Quantizing(Sampling& s, uint64_t seed, bool ties)
      : s_(s), graph_(s.graph()), ranges_(watch(graph_, seed)), ties_(ties) {
    arithmetic_ = s_.pick<std::string>(
        {"exact", "exact", "onnxruntime", "onnxruntime", "torch", "exact,rescale=q31"});
    favourite_ = any_type();
    ratios_ = s_.pick<Ratios>({Ratios::any, Ratios::powers, Ratios::near_powers});
    if (ties) {
      arithmetic_ = s_.pick<std::string>({"exact", "onnxruntime"});
      favourite_ = s_.pick<DType>({DType::i8, DType::u8});
      ratios_ = s_.pick<Ratios>({Ratios::powers, Ratios::near_powers});
    }
    base_ = static_cast<float>(s_.between(100, 200)) / 100.0f;
  }

  Result<Ok> run() {
    for (Node* n : graph_.nodes()) {
      if (!ties_ && s_.chance(15)) continue;
      QC_TRY(surround(*n));
    }
    return Ok{};
  }

 private:
  DType any_type() {
    return s_.pick<DType>(
        {DType::i8, DType::i8, DType::i8, DType::u8, DType::u8, DType::i16, DType::u16});
  }

  /// A format that holds a range, more or less.
  QType format(Range r) {
    const DType dtype = ties_ || s_.chance(65) ? favourite_ : any_type();
    CodeRange codes = code_range(dtype);
    if (s_.chance(25)) ++codes.lo;
    const double steps = static_cast<double>(codes.hi - codes.lo);
    double scale = std::max(r.hi - r.lo, 1e-6) / steps;
    const bool even = s_.chance(25);  // symmetric
    if (even) scale = 2 * std::max({-r.lo, r.hi, 5e-7}) / steps;
    if (s_.chance(30)) scale *= static_cast<double>(s_.between(60, 140)) / 100;
    scale = std::clamp(scale, 0x1p-20, 0x1p10);
    if (ratios_ != Ratios::any) {
      scale = std::exp2(std::round(std::log2(scale / base_))) * base_;
      if (ratios_ == Ratios::near_powers)
        scale += static_cast<double>(s_.between(-2, 2)) * std::exp2(-23) * scale;
    }
    double zero = even ? static_cast<double>(codes.lo + codes.hi + 1) / 2
                       : static_cast<double>(codes.lo) - r.lo / scale;
    if (s_.chance(6)) zero = static_cast<double>(s_.chance(50) ? codes.lo : codes.hi);
    zero =
        std::clamp(std::round(zero), static_cast<double>(codes.lo), static_cast<double>(codes.hi));
    return tensor_format(dtype, static_cast<float>(scale), static_cast<int32_t>(zero), codes.lo,
                         codes.hi);
  }

  std::string record() {
    return ties_ || s_.chance(85) ? arithmetic_
                                  : s_.pick<std::string>({"exact", "onnxruntime", "torch"});
  }

  Result<Ok> surround(Node& n) {
    const auto* quantizable = capability<Quantizable>(&n);
    const bool weighted = quantizable && quantizable->weight_operand() >= 0;
    const bool dynamic = weighted && s_.chance(12);
    for (size_t i = 0; i < n.input_count(); ++i) {
      Value* x = n.input(i);
      if (!x || x->dtype() != DType::f32 || (quantizable && quantizable->is_float_operand(i)))
        continue;
      if (x->is_constant()) {
        QC_TRY(constant_operand(n, i, quantizable));
      } else if (dynamic && i == 0) {
        const bool symmetric = s_.chance(40);
        QC_ASSIGN(Value * codes,
                  graph_.emit("quantize_dynamic", {x},
                              {{"to", symmetric || s_.chance(30) ? DType::i8 : DType::u8},
                               {"symmetric", symmetric},
                               {"per_token", s_.chance(30)}},
                              n.loc(), &n));
        Node* q = codes->def();
        QC_ASSIGN(Value * decoded,
                  graph_.emit("dequantize", {codes, q->output(1), q->output(2)}, {}, n.loc(), &n));
        graph_.set_input(&n, i, decoded);
      } else if (!capability<IsDequantize>(x->def()) || s_.chance(15)) {
        QC_ASSIGN(Value * decoded, through(x, format(ranges_[x]), &n));
        ranges_[decoded] = ranges_[x];
        graph_.set_input(&n, i, decoded);
      }
    }
    for (size_t o = 0; o < n.output_count() && !dynamic; ++o) {
      Value* y = n.output(o);
      if (y->dtype() != DType::f32 || !y->has_uses() ||
          (quantizable && quantizable->is_float_result(o)))
        continue;
      QC_ASSIGN(Value * decoded, through(y, format(ranges_[y]), n.next()));
      ranges_[decoded] = ranges_[y];
      Node* quantize = decoded->def()->input(0)->def();
      graph_.replace_uses(y, decoded);
      graph_.set_input(quantize, 0, y);
    }
    return Ok{};
  }

  Result<Ok> constant_operand(Node& n, size_t i, const Quantizable* quantizable) {
    Value* x = n.input(i);
    QType type;
    if (quantizable && quantizable->is_weight(i)) {
      WeightScheme scheme;
      scheme.granularity = s_.chance(60) ? Granularity::axis : Granularity::tensor;
      if (s_.chance(10)) scheme.dtype = DType::i16, scheme.qmin = -32767, scheme.qmax = 32767;
      auto made = weight_format(graph_, x, scheme, quantizable->weight_channel_axis(),
                                quantizable->weight_sum_axis(), n.loc());
      if (!made.ok()) return Ok{};
      type = *made;
    } else {
      if (s_.chance(50)) return Ok{};
      auto made = constant_format(graph_, x, format({-1, 1}), n.loc());
      if (!made.ok()) return Ok{};
      type = *made;
    }
    QC_ASSIGN(Value * decoded,
              graph_.emit("dequantize", {quantized_constant(graph_, x, type)}, {}, n.loc(), &n));
    graph_.set_input(&n, i, decoded);
    return Ok{};
  }

  Result<Value*> through(Value* x, const QType& type, Node* before) {
    const Loc loc = x->def() ? x->def()->loc() : Loc{};
    QC_ASSIGN(Value * codes,
              graph_.emit("quantize", {x}, {{"to", type}, {"arithmetic", record()}}, loc, before));
    return graph_.emit("dequantize", {codes}, {}, loc, before);
  }

  Sampling& s_;
  Graph& graph_;
  std::map<const Value*, Range> ranges_;
  bool ties_;
  std::string arithmetic_;
  DType favourite_;
  /// How the scales of the graph relate: powers of two make ties, and neighbours of them show every
  /// rounding.
  enum class Ratios { any, powers, near_powers } ratios_;
  double base_;
};

}  // namespace

std::unique_ptr<Graph> random_quantized_graph(uint64_t seed, int nodes) {
  Sampling s(seed);
  s.input(DType::f32, s.shape(s.between(2, 4), 1500));
  for (int tries = 0; static_cast<int>(s.graph().node_count()) < nodes && tries < nodes * 8;
       ++tries) {
    samplers().all().at(s.pick(building_blocks()))(s);
  }
  add_outputs(s);
  if (!Quantizing(s, seed, false).run().ok()) return random_quantized_graph(seed + 1000003, nodes);
  return s.take();
}

std::unique_ptr<Graph> near_tie_graph(uint64_t seed) {
  Sampling s(seed);
  Value* a = s.input(DType::f32, {1, 3, 30, 40});
  Value* b = s.input(DType::f32, {1, 3, 30, s.chance(30) ? 1 : 40});
  const std::string op = s.pick<std::string>({"add", "add", "mul", "average_pool", "average_pool"});
  if (op == "average_pool") {
    s.emit(op, {a},
           {{"kernel", Ints{s.pick<int64_t>({2, 3, 3, 5}), s.pick<int64_t>({2, 4})}},
            {"strides", Ints{1, 1}},
            {"dilations", Ints{1, 1}},
            {"pads", Ints{0, 0, 0, 0}}});
  } else {
    if (s.chance(50)) std::swap(a, b);
    s.emit(op, {a, b});
  }
  add_outputs(s);
  return Quantizing(s, seed, true).run().ok() ? s.take() : nullptr;
}

std::unique_ptr<Graph> linear_layers_graph(uint64_t seed) {
  Sampling s(seed);
  const int64_t rows = s.between(1, 20);
  int64_t k = s.between(1, 70);
  Value* x = s.input(DType::f32, {rows, k});
  for (int64_t layer = s.between(1, 3); layer > 0; --layer) {
    const int64_t n = s.between(1, 70);
    std::vector<Value*> inputs{x, s.constant(DType::f32, {n, k})};
    if (s.chance(50)) inputs.push_back(s.constant(DType::f32, {n}));
    x = s.emit("linear", inputs);
    if (s.chance(30)) x = s.emit("relu", {x});
    if (s.chance(40)) {
      Value* const same = s.emit("linear", {x, s.constant(DType::f32, {n, n})});
      x = s.emit("add", {same, x});
    }
    k = n;
  }
  add_outputs(s);
  return Quantizing(s, seed, true).run().ok() ? s.take() : nullptr;
}

}  // namespace qc
