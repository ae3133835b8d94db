// Recurrent cells, whatever their sums are formed from: in the interpreter, and as parameters.
#pragma once

#include <algorithm>

#include "interp/eval.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/strided.h"
#include "ops/rnn/rnn.h"
#include "program/lowering.h"

namespace qc {

/// Operands and states of one direction and sequence, and the formulas of the cells.
/// `Sums` has input_chain(g, x, start) and recurrent_chain(g, v, start): what x and a state add to
/// the pre-activation of gate element g.
template <class Sums>
struct CellRun {
  size_t hidden, gates;
  Sums sums;
  const float *bias, *peepholes;
  const CellFunction* functions;
  float clip;
  bool linear_before_reset, input_forget;
  std::vector<float> h, c;

  float limit(float v) const { return qn_clamp_f32(v, -clip, clip); }
  float input_bias(size_t g) const { return bias ? bias[g] : 0.0f; }
  float recurrent_bias(size_t g) const { return bias ? bias[gates * hidden + g] : 0.0f; }
  float input_chain(size_t g, const float* x, float start) const {
    return sums.input_chain(g, x, start);
  }
  float recurrent_chain(size_t g, const float* v, float start) const {
    return sums.recurrent_chain(g, v, start);
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

/// Walks all directions, sequences and steps. `start(d)` gives the run of a direction,
/// `settle(run)` is called when a new state h is there, `x(t, b)` is a row of the input, `write(to,
/// run)` stores h at an element offset of y.
template <class Start, class Settle, class Row, class Write>
void walk_cells(EvalContext& c, const Cell& cell, const CellAttrs& attrs, Start&& start,
                Settle&& settle, Row&& row, Write&& write) {
  const Ints& x = c.in(kX).shape();
  const int64_t steps = x[0], batch = x[1], hidden = c.in(kR).shape()[2];
  const int64_t sides = attrs.directions();
  for (int64_t d = 0; d < sides; ++d) {
    auto run = start(d);
    const bool backward = d == 1 || attrs.direction == "reverse";
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t state = (d * batch + b) * hidden;
      const int64_t length = c.has(kLengths)
                                 ? std::clamp<int64_t>(c.in(kLengths).data<int32_t>()[b], 0, steps)
                                 : steps;
      auto first = [&](size_t operand) {
        std::vector<float> values(static_cast<size_t>(hidden));
        for (int64_t i = 0; i < hidden && c.has(operand); ++i) {
          values[static_cast<size_t>(i)] = static_cast<float>(c.in(operand).as_double(state + i));
        }
        return values;
      };
      run.h = first(kH0);
      run.c = first(kC0);
      settle(run, true);
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = backward ? length - 1 - step : step;
        run.step(cell.kind, row(t, b));
        settle(run, false);
        write(c.out(0), ((t * sides + d) * batch + b) * hidden, run);
      }
      write(c.out(1), state, run);
      if (cell.kind == CellKind::lstm) {
        std::copy(run.c.begin(), run.c.end(), c.out(2).mutable_data<float>() + state);
      }
    }
  }
}

/// The parameters that kernels of plain and quantized layers share.
template <class Params>
Result<Ok> fill_params(const CellAttrs& attrs, const Cell& cell, const Lowering& l, Params& p) {
  const Dims x = l.in_dims(kX), y = l.out_dims(0);
  QC_ASSIGN(const std::vector<CellFunction> applied, attrs.functions(cell, l.loc()));
  QC_ASSIGN(p.steps, l.param(x[0]));
  QC_ASSIGN(p.batch, l.param(x[1]));
  QC_ASSIGN(p.inputs, l.param(x[2]));
  QC_ASSIGN(p.hidden, l.param(y[3]));
  p.directions = y[1];
  p.reverse = attrs.direction == "reverse";
  p.linear_before_reset = attrs.linear_before_reset;
  p.input_forget = attrs.input_forget;
  p.clip = static_cast<float>(attrs.clip);
  const size_t each = cell.activations.size();
  for (size_t i = 0; i < static_cast<size_t>(y[1].value()) * each; ++i) {
    const size_t to = i / each * 3 + i % each;
    p.activation[to] = applied[i].code;
    p.alpha[to] = applied[i].alpha;
    p.beta[to] = applied[i].beta;
  }
  return Ok{};
}

}  // namespace qc
