#include "ops/rnn/rnn.h"

#include "interp/eval.h"
#include "kernels/c/gemm/gemm.h"
#include "kernels/c/rnn/rnn.h"
#include "kernels/kernels.h"
#include "kernels/numerics/reduce.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {
namespace {

enum Operands : size_t { kX, kW, kR, kBias, kLengths, kH0, kC0, kPeepholes };

constexpr std::string_view kRnnActivations[] = {"tanh"};
constexpr std::string_view kGruActivations[] = {"sigmoid", "tanh"};
constexpr std::string_view kLstmActivations[] = {"sigmoid", "tanh", "tanh"};

const Cell kCells[] = {
    {CellKind::rnn,
     1,
     kRnnActivations,
     {.name = "rnn",
      .min_inputs = 3,
      .max_inputs = 6,
      .outputs = 2,
      .summary = "plain recurrent layer, one or two directions"}},
    {CellKind::gru,
     3,
     kGruActivations,
     {.name = "gru",
      .min_inputs = 3,
      .max_inputs = 6,
      .outputs = 2,
      .summary = "gated recurrent layer, one or two directions"}},
    {CellKind::lstm,
     4,
     kLstmActivations,
     {.name = "lstm",
      .min_inputs = 3,
      .max_inputs = 8,
      .outputs = 3,
      .summary = "long short-term memory layer, one or two directions, peepholes"}},
};

/// Operands and states of one direction and sequence, and the formulas of the cells.
struct CellRun {
  size_t hidden, inputs, gates;
  const float *w, *r, *bias, *peepholes;
  const CellFunction* functions;
  float clip;
  bool linear_before_reset, input_forget;
  std::vector<float> h, c;

  float limit(float v) const { return qn_clamp_f32(v, -clip, clip); }
  float input_bias(size_t g) const { return bias ? bias[g] : 0.0f; }
  float recurrent_bias(size_t g) const { return bias ? bias[gates * hidden + g] : 0.0f; }
  float input_chain(size_t g, const float* x, float start) const {
    return qn_dot_f32(w + g * inputs, 1, x, 1, static_cast<int64_t>(inputs), start);
  }
  float recurrent_chain(size_t g, const float* v, float start) const {
    return qn_dot_f32(r + g * hidden, 1, v, 1, static_cast<int64_t>(hidden), start);
  }
  /// The chain of gate element g: biases, input terms, recurrent terms.
  float gate(size_t g, const float* x, const float* v) const {
    return recurrent_chain(g, v,
                           input_chain(g, x, bias ? input_bias(g) + recurrent_bias(g) : 0.0f));
  }

  void step_rnn(const float* x) {
    std::vector<float> next(h.size());
    for (size_t j = 0; j < hidden; ++j) next[j] = functions[0](limit(gate(j, x, h.data())));
    h = next;
  }
  void step_gru(const float* x) {
    std::vector<float> z(h.size()), r_gate(h.size()), reset(h.size()), next(h.size());
    for (size_t j = 0; j < hidden; ++j) {
      z[j] = functions[0](limit(gate(j, x, h.data())));
      r_gate[j] = functions[0](limit(gate(hidden + j, x, h.data())));
      reset[j] = qn_mulf(r_gate[j], h[j]);
    }
    for (size_t j = 0; j < hidden; ++j) {
      const size_t g = 2 * hidden + j;
      float a;
      if (linear_before_reset) {
        const float q = recurrent_chain(g, h.data(), recurrent_bias(g));
        a = qn_fmaf(r_gate[j], q, input_chain(g, x, input_bias(g)));
      } else {
        a = gate(g, x, reset.data());
      }
      next[j] = qn_fmaf(z[j], h[j], qn_mulf(1.0f - z[j], functions[1](limit(a))));
    }
    h = next;
  }
  void step_lstm(const float* x) {
    std::vector<float> next(h.size());
    for (size_t j = 0; j < hidden; ++j) {
      float i = gate(j, x, h.data()), o = gate(hidden + j, x, h.data());
      float f = gate(2 * hidden + j, x, h.data());
      const float g = functions[1](limit(gate(3 * hidden + j, x, h.data())));
      if (peepholes) {
        i = qn_fmaf(peepholes[j], c[j], i);
        f = qn_fmaf(peepholes[2 * hidden + j], c[j], f);
      }
      i = functions[0](limit(i));
      f = input_forget ? 1.0f - i : functions[0](limit(f));
      c[j] = qn_fmaf(f, c[j], qn_mulf(i, g));
      if (peepholes) o = qn_fmaf(peepholes[hidden + j], c[j], o);
      next[j] = qn_mulf(functions[0](limit(o)), functions[2](c[j]));
    }
    h = next;
  }
  void step(CellKind kind, const float* x) {
    if (kind == CellKind::rnn) step_rnn(x);
    if (kind == CellKind::gru) step_gru(x);
    if (kind == CellKind::lstm) step_lstm(x);
  }
};

/// Weights [D, n, k] in panels: packed with the weights where they are constant, else before the
/// call.
Result<View> weight_panels(Lowering& l, size_t operand) {
  const Ints dims = l.in_dims(operand);
  const Ints shape{dims[0], (dims[1] + 15) / 16, dims[2], 16};
  qk_gemm_pack_params params{};
  QC_TRY(param(count(shape), l.loc()));
  QC_ASSIGN(params.batch, param(dims[0], l.loc()));
  QC_ASSIGN(params.k, param(dims[2], l.loc()));
  QC_ASSIGN(params.n, param(dims[1], l.loc()));
  QC_ASSIGN(params.batch_step, param(dims[1] * dims[2], l.loc()));
  params.k_step = 1;
  params.n_step = params.k;
  if (auto source = l.constant_in(operand)) {
    return l.derived(*source, "panels.rows", DType::f32, shape,
                     [params, shape](const Tensor& w) -> Result<Tensor> {
                       Tensor packed(DType::f32, shape);
                       const void* in[] = {w.bytes().data()};
                       void* out[] = {packed.mutable_bytes().data()};
                       find_kernel("qk_gemm_pack_f32")->run(&params, in, out);
                       return packed;
                     });
  }
  const View packed = l.scratch(count(shape) * 4, "packed weights");
  l.call("qk_gemm_pack_f32", params, {l.in(operand)}, {packed});
  return packed;
}

bool fits(const Dims& shape, const Dims& expected) {
  if (shape.size() != expected.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_static() && expected[i].is_static() && !(shape[i] == expected[i])) return false;
  }
  return true;
}

}  // namespace

void Recurrent::attrs(AttrVisitor& v) {
  v("direction", direction, std::string("forward"));
  v("activations", activations, join_activations(cell_->activations));
  v("alphas", alphas, Floats{});
  v("betas", betas, Floats{});
  v("clip", clip, kInf);
  if (cell_->kind == CellKind::gru) v("linear_before_reset", linear_before_reset, false);
  if (cell_->kind == CellKind::lstm) v("input_forget", input_forget, false);
}

Result<std::vector<CellFunction>> Recurrent::functions() const {
  return resolve_activations(activations, alphas, betas, cell_->activations.size(),
                             static_cast<size_t>(directions()), loc());
}

Result<std::vector<Type>> Recurrent::infer() const {
  const Type &x = input_type(kX), &r = input_type(kR);
  for (size_t i = 0; i < input_count(); ++i) {
    if (!input(i)) {
      if (i <= kR) return error(Code::graph, loc(), "operand {} is missing", i);
      continue;
    }
    const DType got = input_type(i).dtype, want = i == kLengths ? DType::i32 : DType::f32;
    if (got != want) {
      return error(Code::unsupported, loc(), "operand {} of {} is {}, expected {}", i, op(),
                   name(got), name(want));
    }
  }
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return error(Code::attribute, loc(), "direction is '{}'", direction);
  }
  if (!(clip > 0)) return error(Code::attribute, loc(), "clip is {}, expected more than 0", clip);
  QC_TRY(functions());
  if (x.rank() != 3 || r.rank() != 3 || !r.shape[2].is_static() || r.shape[2].value() < 1) {
    return error(Code::shape, loc(), "{} of {} with recurrent weights {}", op(), str(x.shape),
                 str(r.shape));
  }
  const Dim hidden = r.shape[2], sides(directions()), outputs = hidden * Dim(cell_->gates);
  const Dims state{sides, x.shape[1], hidden};
  const Dims expected[] = {x.shape,
                           {sides, outputs, x.shape[2]},
                           {sides, outputs, hidden},
                           {sides, outputs * Dim(2)},
                           {x.shape[1]},
                           state,
                           state,
                           {sides, hidden * Dim(3)}};
  for (size_t i = 0; i < input_count(); ++i) {
    if (input(i) && !fits(input_type(i).shape, expected[i])) {
      return error(Code::shape, loc(), "operand {} of {} has shape {}, expected {}", i, op(),
                   str(input_type(i).shape), str(expected[i]));
    }
  }
  std::vector<Type> out{Type(DType::f32, {x.shape[0], sides, x.shape[1], hidden}),
                        Type(DType::f32, state)};
  if (cell_->kind == CellKind::lstm) out.push_back(out[1]);
  return out;
}

int64_t Recurrent::macs() const {
  if (!all_static(input_type(kX).shape)) return 0;
  const Dims &x = input_type(kX).shape, &r = input_type(kR).shape;
  return (x[0] * x[1] * Dim(directions() * cell_->gates) * r[2] * (x[2] + r[2])).value();
}

Result<Ok> Recurrent::eval(EvalContext& c) const {
  const Ints &x = c.in(kX).shape(), &r = c.in(kR).shape();
  const int64_t steps = x[0], batch = x[1], inputs = x[2], hidden = r[2], sides = directions();
  const int64_t outputs = cell_->gates * hidden;
  QC_ASSIGN(std::vector<CellFunction> applied, functions());
  auto part = [&](size_t operand, int64_t at) {
    return c.has(operand) ? c.in(operand).data<float>() + at : nullptr;
  };
  for (int64_t d = 0; d < sides; ++d) {
    CellRun run{static_cast<size_t>(hidden),
                static_cast<size_t>(inputs),
                static_cast<size_t>(cell_->gates),
                part(kW, d * outputs * inputs),
                part(kR, d * outputs * hidden),
                part(kBias, d * 2 * outputs),
                part(kPeepholes, d * 3 * hidden),
                applied.data() + static_cast<size_t>(d) * cell_->activations.size(),
                static_cast<float>(clip),
                linear_before_reset,
                input_forget,
                {},
                {}};
    const bool backward = d == 1 || direction == "reverse";
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t state = (d * batch + b) * hidden;
      const int64_t length = c.has(kLengths)
                                 ? std::clamp<int64_t>(c.in(kLengths).data<int32_t>()[b], 0, steps)
                                 : steps;
      auto first = [&](size_t operand) {
        const float* from = part(operand, state);
        return from ? std::vector<float>(from, from + hidden)
                    : std::vector<float>(static_cast<size_t>(hidden));
      };
      run.h = first(kH0);
      run.c = first(kC0);
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = backward ? length - 1 - step : step;
        run.step(cell_->kind, part(kX, (t * batch + b) * inputs));
        std::copy(run.h.begin(), run.h.end(),
                  c.out(0).mutable_data<float>() + ((t * sides + d) * batch + b) * hidden);
      }
      std::copy(run.h.begin(), run.h.end(), c.out(1).mutable_data<float>() + state);
      if (cell_->kind == CellKind::lstm) {
        std::copy(run.c.begin(), run.c.end(), c.out(2).mutable_data<float>() + state);
      }
    }
  }
  return Ok{};
}

Result<Ok> Recurrent::lower(Lowering& l) const {
  const Ints x = l.in_dims(kX), y = l.out_dims(0);
  const int64_t hidden = y[3], per_side = static_cast<int64_t>(cell_->activations.size());
  QC_ASSIGN(std::vector<CellFunction> applied, functions());
  qk_rnn_params p{};
  QC_ASSIGN(p.steps, param(x[0], loc()));
  QC_ASSIGN(p.batch, param(x[1], loc()));
  QC_ASSIGN(p.inputs, param(x[2], loc()));
  QC_ASSIGN(p.hidden, param(hidden, loc()));
  QC_TRY(param(cell_->gates * hidden * 2 + 4 * hidden + 16, loc()));
  p.directions = static_cast<int32_t>(y[1]);
  p.reverse = direction == "reverse";
  p.linear_before_reset = linear_before_reset;
  p.input_forget = input_forget;
  p.clip = static_cast<float>(clip);
  for (int64_t d = 0; d < y[1]; ++d) {
    for (int64_t i = 0; i < per_side; ++i) {
      const CellFunction& f = applied[static_cast<size_t>(d * per_side + i)];
      p.activation[3 * d + i] = f.code;
      p.alpha[3 * d + i] = f.alpha;
      p.beta[3 * d + i] = f.beta;
    }
  }
  auto optional = [&](size_t i) { return l.has(i) ? l.in(i) : View{}; };
  QC_ASSIGN(View w, weight_panels(l, kW));
  QC_ASSIGN(View r, weight_panels(l, kR));
  const View scratch = l.scratch(QK_RNN_SCRATCH(cell_->gates, hidden) * 4, "gates");
  std::vector<View> in{l.in(kX), w, r, optional(kBias), optional(kLengths), optional(kH0)};
  std::vector<View> out{l.out(0), l.out(1)};
  if (cell_->kind == CellKind::lstm) {
    in.insert(in.end(), {optional(kC0), optional(kPeepholes)});
    out.push_back(l.out(2));
  }
  out.push_back(scratch);
  l.call("qk_" + std::string(op()) + "_f32", p, std::move(in), std::move(out),
         {.in_place = {}, .macs = macs()});
  return Ok{};
}

void register_rnn(Registration& r) {
  for (const Cell& cell : kCells) {
    r.op(&cell.info, [p = &cell] { return std::unique_ptr<Node>(std::make_unique<Recurrent>(p)); });
  }
  r.imports(rnn_onnx_rows());
  r.imports(rnn_aten_rows());
}

}  // namespace qc
