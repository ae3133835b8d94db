#include "interp/eval.h"
#include "ir/op_table.h"
#include "kernels/qrnn/calls.h"
#include "ops/common/codes.h"
#include "ops/common/strided.h"
#include "ops/rnn/cell.h"
#include "ops/rnn/rnn.h"
#include "program/lowering.h"
#include "quant/constants.h"

namespace qc {
namespace {

#define QC_QCELL(NAME, INPUTS, OUTPUTS)                                                \
  {                                                                                    \
    .name = NAME, .min_inputs = 3, .max_inputs = INPUTS, .outputs = OUTPUTS,           \
    .summary = "recurrent layer on codes: integer accumulators, gate functions in f32" \
  }
const OpInfo kQuantizedCells[] = {
    QC_QCELL("qrnn", 6, 2),
    QC_QCELL("qgru", 6, 2),
    QC_QCELL("qlstm", 8, 3),
};
#undef QC_QCELL

/// Codes with one scale, or one for each row of weights [D, rows, k], all zero points 0.
bool are_weights(const QType& type) {
  if (!type.format || type.format->is_dynamic() || bits(type.dtype) > 16) return false;
  const Format& f = *type.format;
  if (f.granularity == Granularity::group) return false;
  if (f.granularity == Granularity::axis && f.axis != 1) return false;
  for (int64_t i = 0; f.zero_point.kind == Component::Kind::fixed && i < f.zero_point.values.size();
       ++i) {
    if (f.zero_point.values.as_int(i) != 0) return false;
  }
  return true;
}

/// What exact sums of rows are multiplied by: the scale of the vector times the row's.
std::vector<float> row_multipliers(float scale, const Type& weights) {
  std::vector<float> out(static_cast<size_t>(weights.shape[1].value()));
  for (size_t g = 0; g < out.size(); ++g) {
    out[g] = qn_mulf(scale, weights.format->scale_at(static_cast<int64_t>(g)));
  }
  return out;
}

int64_t widest(const Format& f) {
  const int64_t zero = f.zero_at();
  return std::max(f.qmax - zero, zero - f.qmin);
}

/// Exact sums of codes for one direction.
struct CodeSums {
  const Tensor *w, *r;
  int64_t w_row, r_row, inputs, hidden;
  const float *mx, *mh;
  int32_t zx;
  CodeLimits limits;
  int32_t zh;
  Encoding encoding;

  int32_t encode(float v) const {
    return qn_encode(v, encoding.divisor, encoding.reciprocal, zh, limits.lo, limits.hi);
  }
  float input_chain(size_t g, const float* x, float start) const {
    int64_t sum = 0;
    const int64_t row = w_row + static_cast<int64_t>(g) * inputs;
    for (int64_t k = 0; k < inputs; ++k) {
      sum += (static_cast<int64_t>(x[k]) - zx) * w->as_int(row + k);
    }
    return qn_fmaf(static_cast<float>(sum), mx[g], start);
  }
  float recurrent_chain(size_t g, const float* v, float start) const {
    int64_t sum = 0;
    const int64_t row = r_row + static_cast<int64_t>(g) * hidden;
    for (int64_t k = 0; k < hidden; ++k) sum += (encode(v[k]) - zh) * r->as_int(row + k);
    return qn_fmaf(static_cast<float>(sum), mh[g], start);
  }
};

}  // namespace

const OpInfo& quantized_cell_info(CellKind kind) {
  return kQuantizedCells[static_cast<size_t>(kind)];
}

Result<std::vector<Type>> QRecurrent::infer() const {
  QC_ASSIGN(std::vector<Dims> shapes, check(*this, *cell_, {kX, kW, kR, kH0}));
  QC_TRY(check_quantized({kX, kW, kR}));
  QC_TRY(check_one_scale(input_type(kX).quant(), loc()));
  QC_TRY(check_one_scale(to, loc()));
  for (size_t i : {kW, kR}) {
    if (!are_weights(input_type(i).quant())) {
      return error(Code::quant, loc(),
                   "weights {} need one scale, or one per row, and no zero point",
                   str(input_type(i)));
    }
  }
  if (input(kH0) && !(input_type(kH0).quant() == to)) {
    return error(Code::quant, loc(), "a first state {}, expected {}", str(input_type(kH0)),
                 str(to));
  }
  std::vector<Type> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    out.push_back(i < 2 ? Type(to, std::move(shapes[i])) : Type(DType::f32, std::move(shapes[i])));
    if (i < 2) QC_TRY(check_format(out.back(), loc()));
  }
  return out;
}

AccumulatorProof QRecurrent::accumulator() const {
  AccumulatorProof proof;
  for (size_t i : {kW, kR}) {
    const Type& w = input_type(i);
    const Format& v = i == kW ? *input_type(kX).format : *to.format;
    const int64_t terms = w.shape[2].is_static() ? w.shape[2].value() : 0;
    int64_t bound = 0;
    if (terms == 0 || __builtin_mul_overflow(widest(v) * widest(*w.format), terms, &bound)) {
      bound = std::numeric_limits<int64_t>::max();
    }
    proof.terms = std::max(proof.terms, terms);
    proof.bound = std::max(proof.bound, bound);
  }
  proof.type = proof.bound <= INT32_MAX ? DType::i32 : DType::i64;
  return proof;
}

int64_t QRecurrent::macs() const { return cell_macs(*this, *cell_, directions()); }

Result<Ok> QRecurrent::eval(EvalContext& c) const {
  const Ints &x = c.in(kX).shape(), &r = c.in(kR).shape();
  const int64_t batch = x[1], inputs = x[2], hidden = r[2], outputs = cell_->gates * hidden;
  QC_ASSIGN(std::vector<CellFunction> applied, functions(*cell_, loc()));
  const float scale = to.format->scale_at();
  const std::vector<float> mx = row_multipliers(input_type(kX).format->scale_at(), input_type(kW));
  const std::vector<float> mh = row_multipliers(scale, input_type(kR));
  auto part = [&](size_t operand, int64_t at) {
    return c.has(operand) ? c.in(operand).data<float>() + at : nullptr;
  };
  const size_t n = static_cast<size_t>(hidden);
  std::vector<float> row(static_cast<size_t>(inputs));
  walk_cells(
      c, *cell_, *this,
      [&](int64_t d) {
        return CellRun<CodeSums>{
            n,
            static_cast<size_t>(cell_->gates),
            {&c.in(kW), &c.in(kR), d * outputs * inputs, d * outputs * hidden, inputs, hidden,
             mx.data(), mh.data(), input_type(kX).format->zero_at(), code_limits(to),
             to.format->zero_at(), encoding(*to.format, parsed_arithmetic())},
            part(kBias, d * 2 * outputs),
            part(kPeepholes, d * 3 * hidden),
            applied.data() + static_cast<size_t>(d) * cell_->activations.size(),
            static_cast<float>(clip),
            linear_before_reset,
            input_forget,
            {},
            {}};
      },
      // A state is the value of its code; the first one comes as codes.
      [&](auto& run, bool first) {
        for (float& h : run.h) {
          const int32_t code = !first       ? run.sums.encode(h)
                               : c.has(kH0) ? static_cast<int32_t>(h)
                                            : run.sums.zh;
          h = qn_dequantize(code, scale, run.sums.zh);
        }
      },
      [&](int64_t t, int64_t b) {
        for (int64_t k = 0; k < inputs; ++k) {
          row[static_cast<size_t>(k)] =
              static_cast<float>(c.in(kX).as_int((t * batch + b) * inputs + k));
        }
        return row.data();
      },
      [](Tensor& y, int64_t at, const auto& run) {
        for (float h : run.h) y.set_int(at++, run.sums.encode(h));
      });
  // Steps after the end of a sequence are 0.
  const Ints& ys = c.out(0).shape();
  for (int64_t t = 0; t < ys[0] && c.has(kLengths); ++t) {
    for (int64_t i = 0; i < ys[1] * ys[2] * ys[3]; ++i) {
      const int64_t b = i / ys[3] % ys[2];
      if (t < c.in(kLengths).data<int32_t>()[b]) continue;
      c.out(0).set_int(t * ys[1] * ys[2] * ys[3] + i, to.format->zero_at());
    }
  }
  return Ok{};
}

Result<Ok> QRecurrent::lower(Lowering& l) const {
  kernel::Qrnn c;
  QC_TRY(fill_params(*this, *cell_, l, c));
  const int64_t hidden = c.hidden.value();
  QC_TRY(l.param((cell_->gates + 5) * hidden * 2));
  c.type_x = code_type(l.in_type(kX).dtype);
  c.type_w = code_type(l.in_type(kW).dtype);
  c.type_r = code_type(l.in_type(kR).dtype);
  c.type_h = code_type(to.dtype);
  c.zx = l.in_type(kX).format->zero_at();
  c.zh = to.format->zero_at();
  const CodeLimits limits = code_limits(to);
  c.lo = limits.lo;
  c.hi = limits.hi;
  c.scale_h = to.format->scale_at();
  const Encoding e = encoding(*to.format, parsed_arithmetic());
  c.divisor = e.divisor;
  c.reciprocal = e.reciprocal;
  c.wide = accumulator().type == DType::i64;
  auto floats = [&](const std::vector<float>& values) {
    return l.constant(Tensor::of<float>(DType::f32, {static_cast<int64_t>(values.size())}, values),
                      "multipliers");
  };
  c.cell = cell_->info.name;
  c.x = l.in(kX);
  c.w = l.in(kW);
  c.r = l.in(kR);
  c.x_multipliers = floats(row_multipliers(l.in_type(kX).format->scale_at(), l.in_type(kW)));
  c.h_multipliers = floats(row_multipliers(c.scale_h, l.in_type(kR)));
  c.bias = l.optional(kBias);
  c.lengths = l.optional(kLengths);
  c.h0 = l.optional(kH0);
  c.c0 = l.optional(kC0);
  c.peepholes = l.optional(kPeepholes);
  c.y = l.out(0);
  c.h = l.out(1);
  if (cell_->kind == CellKind::lstm) c.c = l.out(2);
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

Result<Value*> Recurrent::quantized(Quantizer& q) const {
  if (!q.codes(kX) || !has_one_scale(q.codes(kX)->type().quant())) {
    return q.refuse("the input is not codes with one static scale");
  }
  for (size_t i : {kW, kR}) {
    if (!q.codes(i) || !are_weights(q.codes(i)->type().quant())) {
      return q.refuse("weights are not codes with a scale per row and no zero point");
    }
  }
  // y and the last h are one state; where nobody reads y, the format is that of h.
  std::optional<QType> to = q.result();
  Arithmetic arithmetic = q.arithmetic();
  if (!output(0)->has_uses()) {
    for (Node* user : output(1)->users()) {
      const auto* reader = capability<IsQuantize>(user);
      if (!reader) continue;
      to = reader->format();
      arithmetic = reader->quantize_arithmetic();
    }
  }
  if (!to || !has_one_scale(*to)) return q.refuse("the state is not quantized to one static scale");
  std::vector<Value*> inputs = this->inputs();
  for (size_t i : {kX, kW, kR}) inputs[i] = q.codes(i);
  if (input(kH0)) {
    const bool coded = q.codes(kH0) && has_one_scale(q.codes(kH0)->type().quant());
    Value*& h0 = inputs[kH0];
    if (coded && q.codes(kH0)->type().quant() == *to) {
      h0 = q.codes(kH0);
    } else if (!coded && h0->is_constant()) {
      h0 = quantized_constant(q.graph(), h0, *to, arithmetic);
    } else {
      QC_ASSIGN(h0, q.emit(coded ? "requantize" : "quantize", {coded ? q.codes(kH0) : h0},
                           {{"to", *to}, {"arithmetic", str(arithmetic)}}));
    }
  }
  AttrMap attrs;
  for (auto& [name, value] : get_attrs(*this, false)) attrs[name] = value;
  attrs["to"] = *to;
  attrs["arithmetic"] = str(arithmetic);
  QC_ASSIGN(Value * y, q.emit(quantized_cell_info(cell_->kind).name, std::move(inputs), attrs));
  QC_ASSIGN(Value * h, q.emit("dequantize", {y->def()->output(1)}, {}));
  q.graph().replace_uses(output(1), h);
  if (cell_->kind == CellKind::lstm) q.graph().replace_uses(output(2), y->def()->output(2));
  return y;
}

}  // namespace qc
