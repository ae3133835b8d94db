#include "ops/rnn/rnn.h"

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/rnn/calls.h"
#include "ops/common/dispatch.h"
#include "ops/common/macs.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "ops/rnn/cell.h"
#include "program/lowering.h"

namespace qc {
namespace {

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

bool fits(const Dims& shape, const Dims& expected) {
  if (shape.size() != expected.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (differ(shape[i], expected[i])) return false;
  }
  return true;
}

}  // namespace

std::span<const Cell> cells() { return kCells; }

void CellAttrs::visit(AttrVisitor& v, const Cell& cell) {
  v("direction", direction, std::string("forward"));
  v("activations", activations, join_activations(cell.activations));
  v("alphas", alphas, Floats{});
  v("betas", betas, Floats{});
  v("clip", clip, kInf);
  if (cell.kind == CellKind::gru) v("linear_before_reset", linear_before_reset, false);
  if (cell.kind == CellKind::lstm) v("input_forget", input_forget, false);
}

Result<std::vector<CellFunction>> CellAttrs::functions(const Cell& cell, const Loc& loc) const {
  return resolve_activations(activations, alphas, betas, cell.activations.size(),
                             static_cast<size_t>(directions()), loc);
}

Result<std::vector<Dims>> CellAttrs::check(const Node& node, const Cell& cell,
                                           std::initializer_list<size_t> codes) const {
  const Loc& loc = node.loc();
  for (size_t i = 0; i <= kR; ++i) {
    if (!node.input(i)) return error(Code::graph, loc, "operand {} is missing", i);
  }
  const Type &x = node.input_type(kX), &r = node.input_type(kR);
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return error(Code::attribute, loc, "direction is '{}'", direction);
  }
  if (!(clip > 0)) return error(Code::attribute, loc, "clip is {}, expected more than 0", clip);
  QC_TRY(functions(cell, loc));
  if (x.rank() != 3 || r.rank() != 3 || !r.shape[2].is_static() || r.shape[2].value() < 1) {
    return error(Code::shape, loc, "{} of {} with recurrent weights {}", node.op(), str(x.shape),
                 str(r.shape));
  }
  const Dim hidden = r.shape[2], sides(directions()), outputs = hidden * Dim(cell.gates);
  const Dims state{sides, x.shape[1], hidden};
  const Dims expected[] = {x.shape,
                           {sides, outputs, x.shape[2]},
                           {sides, outputs, hidden},
                           {sides, outputs * Dim(2)},
                           {x.shape[1]},
                           state,
                           state,
                           {sides, hidden * Dim(3)}};
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.input(i)) continue;
    const Type& type = node.input_type(i);
    if (!fits(type.shape, expected[i])) {
      return error(Code::shape, loc, "operand {} of {} has shape {}, expected {}", i, node.op(),
                   str(type.shape), str(expected[i]));
    }
    const DType want = i == kLengths ? DType::i32 : DType::f32;
    if (type.dtype != want && std::find(codes.begin(), codes.end(), i) == codes.end()) {
      return error(Code::unsupported, loc, "operand {} of {} is {}, expected {}", i, node.op(),
                   name(type.dtype), name(want));
    }
  }
  std::vector<Dims> out{{x.shape[0], sides, x.shape[1], hidden}, state};
  if (cell.kind == CellKind::lstm) out.push_back(state);
  return out;
}

int64_t cell_macs(const Node& node, const Cell& cell, int64_t directions) {
  const Dims &x = node.input_type(kX).shape, &r = node.input_type(kR).shape;
  return macs_of(node, {x[0], x[1], Dim(directions * cell.gates), r[2], x[2] + r[2]});
}

Result<std::vector<Type>> Recurrent::infer() const {
  QC_ASSIGN(std::vector<Dims> shapes, check(*this, *cell_));
  std::vector<Type> out;
  out.reserve(shapes.size());
  for (Dims& shape : shapes) out.emplace_back(DType::f32, std::move(shape));
  return out;
}

int64_t Recurrent::macs() const { return cell_macs(*this, *cell_, directions()); }

namespace {

/// Float weights of one direction: one chain of steps for each sum.
struct FloatSums {
  DotStep dot;
  const float *w, *r;
  size_t inputs, hidden;

  float input_chain(size_t g, const float* x, float start) const {
    return dot_product(dot, w + g * inputs, 1, x, static_cast<int64_t>(inputs), start);
  }
  float recurrent_chain(size_t g, const float* v, float start) const {
    return dot_product(dot, r + g * hidden, 1, v, static_cast<int64_t>(hidden), start);
  }
};

}  // namespace

Result<Ok> Recurrent::eval(EvalContext& c) const {
  const Ints &x = c.in(kX).shape(), &r = c.in(kR).shape();
  const int64_t batch = x[1], inputs = x[2], hidden = r[2], outputs = cell_->gates * hidden;
  QC_ASSIGN(std::vector<CellFunction> applied, functions(*cell_, loc()));
  auto part = [&](size_t operand, int64_t at) {
    return c.has(operand) ? c.in(operand).data<float>() + at : nullptr;
  };
  const size_t n = static_cast<size_t>(hidden);
  walk_cells(
      c, *cell_, *this,
      [&](int64_t d) {
        return CellRun<FloatSums>{
            n,
            static_cast<size_t>(cell_->gates),
            {c.dot(), part(kW, d * outputs * inputs), part(kR, d * outputs * hidden),
             static_cast<size_t>(inputs), n},
            part(kBias, d * 2 * outputs),
            part(kPeepholes, d * 3 * hidden),
            applied.data() + static_cast<size_t>(d) * cell_->activations.size(),
            static_cast<float>(clip),
            linear_before_reset,
            input_forget,
            {},
            {}};
      },
      [](auto&, bool) {}, [&](int64_t t, int64_t b) { return part(kX, (t * batch + b) * inputs); },
      [](Tensor& y, int64_t to, const auto& run) {
        std::copy(run.h.begin(), run.h.end(), y.mutable_data<float>() + to);
      });
  return Ok{};
}

Result<Ok> Recurrent::lower(Lowering& l) const {
  const int64_t hidden = l.out_dims(0)[3].value();
  QC_TRY(l.param(cell_->gates * hidden * 2 + 4 * hidden + 16));
  const View w = l.in(kW), r = l.in(kR);
  for (size_t i : {kW, kR}) QC_TRY(l.param(count(l.in_dims(i))));
  const auto fill = [&](auto& c) -> Result<Ok> {
    QC_TRY(fill_params(*this, *cell_, l, c));
    c.x = l.in(kX);
    c.w = w;
    c.r = r;
    c.bias = l.optional(kBias);
    c.lengths = l.optional(kLengths);
    c.h0 = l.optional(kH0);
    c.y = l.out(0);
    c.h = l.out(1);
    return Ok{};
  };
  const CallInfo info{.in_place = {}, .macs = macs()};
  if (cell_->kind == CellKind::lstm) {
    kernel::Lstm c;
    QC_TRY(fill(c));
    c.c0 = l.optional(kC0);
    c.peepholes = l.optional(kPeepholes);
    c.c = l.out(2);
    l.emit(c, info);
    return Ok{};
  }
  kernel::Rnn c;
  c.cell = op();
  QC_TRY(fill(c));
  l.emit(c, info);
  return Ok{};
}

void register_rnn(Registration& r) {
  for (const Cell& cell : kCells) {
    r.op(&cell.info, [p = &cell] { return std::unique_ptr<Node>(std::make_unique<Recurrent>(p)); });
    const OpInfo& info = quantized_cell_info(cell.kind);
    r.op(&info, [p = &cell, &info] {
      return std::unique_ptr<Node>(std::make_unique<QRecurrent>(p, &info));
    });
  }
  r.imports(rnn_onnx_rows());
  r.imports(rnn_aten_rows());
}

}  // namespace qc
