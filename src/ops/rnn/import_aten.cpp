#include "ops/common/importing.h"
#include "ops/common/indexing.h"
#include "ops/common/range.h"
#include "ops/rnn/rnn.h"

namespace qc {
namespace {

/// How a PyTorch cell becomes one of ours: its gates in the order ours has them.
struct TorchCell {
  std::string_view op;
  std::vector<int64_t> gates;
  AttrMap attrs;
};

const TorchCell& torch_cell(std::string_view name) {
  static const TorchCell kLstm{"lstm", {0, 3, 1, 2}, {}};
  static const TorchCell kGru{"gru", {1, 0, 2}, {{"linear_before_reset", true}}};
  static const TorchCell kTanh{"rnn", {0}, {}};
  static const TorchCell kRelu{"rnn", {0}, {{"activations", std::string("relu")}}};
  return name == "lstm" ? kLstm : name == "gru" ? kGru : name == "relu" ? kRelu : kTanh;
}

Result<Value*> concatenated(const Import& m, const Values& parts, int64_t axis) {
  return parts.size() == 1 ? Result<Value*>(parts[0]) : m.emit("concat", parts, {{"axis", axis}});
}

/// Weights or a bias whose gates, blocks of rows, go to our order.
Result<Value*> reordered(const Import& m, const TorchCell& cell, Value* w) {
  const Dim gates(static_cast<int64_t>(cell.gates.size()));
  if (w->rank() < 1 || !w->shape()[0].is_static() || !(mod(w->shape()[0], gates) == Dim(0))) {
    return m.fail(Code::shape, "weights of shape {} do not hold {} gates", str(w->shape()),
                  gates.value());
  }
  const Dim rows = floordiv(w->shape()[0], gates);
  Values parts;
  for (int64_t gate : cell.gates) {
    QC_ASSIGN(Value * part, take(m, w, 0, {rows * Dim(gate), rows, Dim(1)}));
    parts.push_back(part);
  }
  return concatenated(m, parts, 0);
}

/// Weights of one layer and direction: w_ih, w_hh and, unless null, both biases and the projection
/// of the hidden state.
struct TorchWeights {
  Value *w, *r, *b_ih = nullptr, *b_hh = nullptr, *projection = nullptr;
};

/// The operands w, r, b of our op for one layer; the directions one after the other.
Result<Values> layer_weights(const Import& m, const TorchCell& cell,
                             const std::vector<TorchWeights>& sides) {
  Values w, r, b;
  auto add = [&](Values& list, Value* v) -> Result<Ok> {
    QC_ASSIGN(v, reordered(m, cell, v));
    Dims shape = v->shape();
    shape.insert(shape.begin(), Dim(1));
    QC_ASSIGN(v, reshaped(m, v, shape));
    list.push_back(v);
    return Ok{};
  };
  for (const TorchWeights& side : sides) {
    QC_TRY(add(w, side.w));
    QC_TRY(add(r, side.r));
    if (!side.b_ih) continue;
    Values both;
    QC_TRY(add(both, side.b_ih));
    QC_TRY(add(both, side.b_hh));
    QC_ASSIGN(Value * joined, concatenated(m, both, 1));
    b.push_back(joined);
  }
  QC_ASSIGN(Value * w_all, concatenated(m, w, 0));
  QC_ASSIGN(Value * r_all, concatenated(m, r, 0));
  Value* b_all = nullptr;
  if (!b.empty()) {
    QC_ASSIGN(b_all, concatenated(m, b, 0));
  }
  return Values{w_all, r_all, b_all};
}

/// The input and the weights of a layer whose hidden state h is a projection P m of what its cell
/// gives, as a layer over m: R P takes the place of R, m starts at zero, and the first h comes with
/// the input of the first step, as further features with R as their weights.
Result<Value*> without_projection(const Import& m, Value* x, Value*& first,
                                  std::vector<TorchWeights>& sides) {
  const Dim steps = x->shape()[0], batch = x->shape()[1];
  const Dim cells = sides[0].projection->rank() == 2 ? sides[0].projection->shape()[1] : Dim(0);
  Values inputs{x};
  std::vector<Values> columns;
  for (size_t i = 0; i < sides.size(); ++i) {
    QC_ASSIGN(Value * h, take(m, first, 0, {Dim(static_cast<int64_t>(i)), Dim(1), Dim(1)}));
    Dims before(3), after(3);
    (i == 0 ? after : before)[0] = steps - Dim(1);
    QC_ASSIGN(h, m.emit("pad", {h}, {{"before", before}, {"after", after}}));
    inputs.push_back(h);
    Values blocks{sides[i].w};
    for (size_t k = 0; k < sides.size(); ++k) {
      Value* block = sides[i].r;
      if (k != i) {
        QC_ASSIGN(block, m.emit("expand", {m.scalar(0, x->dtype())}, {{"shape", block->shape()}}));
      }
      blocks.push_back(block);
    }
    columns.push_back(std::move(blocks));
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    QC_ASSIGN(sides[i].w, concatenated(m, columns[i], 1));
    QC_ASSIGN(sides[i].r, m.emit("matmul", {sides[i].r, sides[i].projection}));
  }
  QC_ASSIGN(first,
            m.emit("expand", {m.scalar(0, x->dtype())},
                   {{"shape", Dims{Dim(static_cast<int64_t>(sides.size())), batch, cells}}}));
  return concatenated(m, inputs, 2);
}

/// The values of each direction, which is axis `axis` of v, times that direction's projection.
Result<Value*> projected(const Import& m, Value* v, int64_t axis,
                         const std::vector<TorchWeights>& sides) {
  Values parts;
  for (size_t i = 0; i < sides.size(); ++i) {
    QC_ASSIGN(Value * part, take(m, v, axis, {Dim(static_cast<int64_t>(i)), Dim(1), Dim(1)}));
    QC_ASSIGN(Value * matrix, transposed(m, sides[i].projection, {1, 0}));
    QC_ASSIGN(part, m.emit("matmul", {part, matrix}));
    parts.push_back(part);
  }
  return concatenated(m, parts, axis);
}

/// lstm.input, gru.input, rnn_tanh.input, rnn_relu.input.
template <OpName name>
Result<Values> aten_layers(Import& m) {
  const TorchCell& cell = torch_cell(name.text);
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Values params, m.tensors("params"));
  QC_ASSIGN(bool has_biases, m.b("has_biases", true));
  QC_ASSIGN(int64_t layers, m.i("num_layers", 1));
  QC_ASSIGN(bool both, m.b("bidirectional", false));
  QC_ASSIGN(bool batch_first, m.b("batch_first", false));
  QC_ASSIGN(bool train, m.b("train", false));
  QC_ASSIGN(double dropout, m.f("dropout", 0));
  Values first;
  if (cell.op == "lstm") {
    QC_ASSIGN(first, m.tensors("hx"));
  } else {
    QC_ASSIGN(Value * h, m.tensor("hx"));
    first.push_back(h);
  }
  const size_t states = cell.op == "lstm" ? 2 : 1, sides = both ? 2 : 1;
  size_t each = has_biases ? 4 : 2;
  if (train && dropout != 0)
    return m.fail(Code::unsupported, "dropout of {} in training mode", dropout);
  if (x->rank() != 3 || first.size() != states) {
    return m.fail(Code::shape, "an input of shape {} with {} states", str(x->shape()),
                  first.size());
  }
  const bool projects = cell.op == "lstm" && layers > 0 &&
                        params.size() == static_cast<size_t>(layers) * sides * (each + 1);
  if (projects) ++each;
  if (layers < 1 || params.size() / (sides * each) != static_cast<size_t>(layers) ||
      params.size() % (sides * each) != 0) {
    return m.fail(Code::graph, "{} weights for {} layers of {} directions", params.size(), layers,
                  sides);
  }
  for (Value* v : params) {
    if (!v) return m.fail(Code::graph, "a weight is missing");
  }
  for (Value* v : first) {
    if (!v || v->rank() != 3)
      return m.fail(Code::shape, "the first state is missing or has no 3 axes");
  }
  if (batch_first) {
    QC_ASSIGN(x, transposed(m, x, {1, 0, 2}));
  }
  AttrMap attrs = cell.attrs;
  if (both) attrs["direction"] = std::string("bidirectional");
  std::vector<Values> last(states);
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<TorchWeights> weights;
    for (size_t side = 0; side < sides; ++side) {
      Value* const* p = params.data() + (static_cast<size_t>(layer) * sides + side) * each;
      weights.push_back(has_biases ? TorchWeights{p[0], p[1], p[2], p[3]}
                                   : TorchWeights{p[0], p[1]});
      if (projects) weights.back().projection = p[each - 1];
    }
    Values start;
    for (Value* state : first) {
      const Dim at(layer * static_cast<int64_t>(sides)), size(static_cast<int64_t>(sides));
      QC_ASSIGN(Value * part, take(m, state, 0, {at, size, Dim(1)}));
      start.push_back(part);
    }
    if (projects) {
      QC_ASSIGN(x, without_projection(m, x, start[0], weights));
    }
    QC_ASSIGN(Values w, layer_weights(m, cell, weights));
    Values inputs{x, w[0], w[1], w[2], nullptr};
    inputs.insert(inputs.end(), start.begin(), start.end());
    QC_ASSIGN(Values out, m.emit_all(cell.op, std::move(inputs), attrs));
    if (projects) {
      QC_ASSIGN(out[0], projected(m, out[0], 1, weights));
      QC_ASSIGN(out[1], projected(m, out[1], 0, weights));
    }
    const Dims y = out[0]->shape();
    if (both) {
      QC_ASSIGN(out[0], transposed(m, out[0], {0, 2, 1, 3}));
    }
    QC_ASSIGN(x, reshaped(m, out[0], {y[0], y[2], y[1] * y[3]}));
    for (size_t i = 0; i < states; ++i) last[i].push_back(out[i + 1]);
  }
  if (batch_first) {
    QC_ASSIGN(x, transposed(m, x, {1, 0, 2}));
  }
  Values result{x};
  for (const Values& state : last) {
    QC_ASSIGN(Value * all, concatenated(m, state, 0));
    result.push_back(all);
  }
  return result;
}

/// lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell: one step of a layer.
template <OpName name>
Result<Values> aten_cell(Import& m) {
  const TorchCell& cell = torch_cell(name.text);
  QC_ASSIGN(Value * x, m.tensor("input"));
  TorchWeights weights{};
  QC_ASSIGN(weights.w, m.tensor("w_ih"));
  QC_ASSIGN(weights.r, m.tensor("w_hh"));
  QC_ASSIGN(weights.b_ih, m.optional_tensor("b_ih"));
  QC_ASSIGN(weights.b_hh, m.optional_tensor("b_hh"));
  Values first;
  if (cell.op == "lstm") {
    QC_ASSIGN(first, m.tensors("hx"));
    if (first.size() != 2) return m.fail(Code::graph, "{} states, expected 2", first.size());
  } else {
    QC_ASSIGN(Value * h, m.tensor("hx"));
    first.push_back(h);
  }
  if ((weights.b_ih == nullptr) != (weights.b_hh == nullptr)) {
    return m.fail(Code::unsupported, "a cell with one of two biases");
  }
  QC_ASSIGN(Values w, layer_weights(m, cell, {weights}));
  auto as_sequence = [&](Value* v) -> Result<Value*> {
    if (!v || v->rank() != 2) return m.fail(Code::shape, "an operand of the cell has no 2 axes");
    return reshaped(m, v, {Dim(1), v->shape()[0], v->shape()[1]});
  };
  QC_ASSIGN(x, as_sequence(x));
  Values inputs{x, w[0], w[1], w[2], nullptr};
  for (Value* state : first) {
    QC_ASSIGN(Value * part, as_sequence(state));
    inputs.push_back(part);
  }
  QC_ASSIGN(Values out, m.emit_all(cell.op, std::move(inputs), cell.attrs));
  Values result;
  for (size_t i = 1; i < out.size(); ++i) {
    const Dims shape = out[i]->shape();
    QC_ASSIGN(Value * v, reshaped(m, out[i], {shape[1], shape[2]}));
    result.push_back(v);
  }
  return result;
}

constexpr ImportRow kAtenRows[] = {
    {"aten", "lstm.input", aten_layers<"lstm">},
    {"aten", "gru.input", aten_layers<"gru">},
    {"aten", "rnn_tanh.input", aten_layers<"tanh">},
    {"aten", "rnn_relu.input", aten_layers<"relu">},
    {"aten", "lstm_cell.default", aten_cell<"lstm">},
    {"aten", "gru_cell.default", aten_cell<"gru">},
    {"aten", "rnn_tanh_cell.default", aten_cell<"tanh">},
    {"aten", "rnn_relu_cell.default", aten_cell<"relu">},
};

}  // namespace

std::span<const ImportRow> rnn_aten_rows() { return kAtenRows; }

}  // namespace qc
