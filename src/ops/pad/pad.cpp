#include <algorithm>
#include <utility>

#include "ir/border.h"
#include "ir/relations.h"
#include "kernels/pad/calls.h"
#include "ops/common/index.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/common/table.h"
#include "quant/scheme.h"

namespace qc {

/// The operand inside a border: of operand 1 (zero without it, for codes the zero point), or of its
/// own elements, mirrored at the edge, repeated from it or continued around the other side.
class Pad final : public OpNode<Pad>, public AddsBorder {
 public:
  static const OpInfo kInfo;
  Dims before, after;
  std::string mode = "constant";

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("before", before);
    v("after", after);
    v("mode", mode, std::string("constant"));
  }
  bool is_identity() const override {
    const Dims none(before.size(), Dim(0));
    return before == none && after == none;
  }
  std::optional<Border> border(const ConstantPool& pool) const override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// What stands in the border without operand 1: the code of 0 for codes.
  Tensor zero() const;
  /// Along each axis, which element of the operand stands at each place of the result.
  Tables positions() const;
  Strided inside(const Dims& dims, const Dims& x, const Dims& y) const;
};

const OpInfo Pad::kInfo = {
    .name = "pad",
    .max_inputs = 2,
    .traits = kAnyLayout | kOnCodes,
    .summary = "the operand in a border of a constant or of its own elements",
};

Result<std::vector<Type>> Pad::infer() const {
  const Type& x = input_type(0);
  if (before.size() != x.shape.size() || after.size() != x.shape.size()) {
    return error(Code::attribute, loc(), "{} and {} pads for {}", before.size(), after.size(),
                 str(x));
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return error(Code::attribute, loc(), "mode '{}' is none of constant, reflect, edge, wrap",
                 mode);
  }
  if (input(1) && (input_type(1).rank() != 0 || input_type(1).dtype != x.dtype)) {
    return error(Code::type, loc(), "the value is {}, expected one {}", str(input_type(1)),
                 name(x.dtype));
  }
  if (x.format && mode == "constant") {
    const bool known = x.format->granularity == Granularity::tensor && !x.format->is_dynamic();
    if (!known || (input(1) && !(input_type(1).quant() == x.quant()))) {
      return error(Code::quant, loc(),
                   "codes {} in a frame need one static scale, and a value of it", str(x));
    }
  }
  // Elements taken from the operand are listed in tables, which must stay small.
  const int64_t most = mode == "constant" ? INT32_MAX : 1 << 20;
  Type y = moved(x, x.shape);
  for (size_t i = 0; i < x.shape.size(); ++i) {
    for (const Dim& d : {before[i], after[i]}) {
      if (exceeds(0, d) || exceeds(d, most)) {
        return error(Code::attribute, loc(), "a pad of {} along axis {}", d.str(), i);
      }
    }
    const bool padded = !(before[i] == Dim(0) && after[i] == Dim(0));
    if (mode != "constant" && padded && x.shape[i] == Dim(0)) {
      return error(Code::shape, loc(), "axis {} without elements cannot be continued", i);
    }
    y.shape[i] = before[i] + x.shape[i] + after[i];
  }
  return std::vector<Type>{y};
}

Tensor Pad::zero() const {
  const Type& x = input_type(0);
  Tensor value(x.dtype, {});
  if (x.format) value.set_int(0, x.format->zero_at());
  return value;
}

std::optional<Border> Pad::border(const ConstantPool& pool) const {
  if (mode != "constant" || (input(1) && !input(1)->is_constant())) return std::nullopt;
  Tensor value = zero();
  if (input(1)) {
    Result<Tensor> given = pool.get(input(1)->constant());
    if (!given.ok()) return std::nullopt;
    value = std::move(*given);
  }
  const DType dtype = input_type(0).dtype;
  Border out{before, after};
  if (is_float(dtype)) {
    out.zero = value.as_double(0) == 0;
    out.lowest = value.as_double(0) == -kInf;
  } else if (is_integer(dtype) && bits(dtype) <= 32) {
    out.zero = value.as_int(0) == zero().as_int(0);
    out.lowest = value.as_int(0) == code_range(dtype).lo;
  }
  return out;
}

Tables Pad::positions() const {
  Tables out;
  const Ints sizes = static_dims(input_type(0).shape);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i];
    Ints& table = out.emplace_back();
    for (int64_t at = -before[i].value(); at < size + after[i].value(); ++at) {
      int64_t from = at;
      if (mode == "edge") {
        from = std::clamp<int64_t>(at, 0, size - 1);
      } else if (mode == "wrap") {
        from = ((at % size) + size) % size;
      } else {
        const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
        from = ((at % period) + period) % period;
        if (from >= size) from = period - from;
      }
      table.push_back(from);
    }
  }
  return out;
}

Strided Pad::inside(const Dims& dims, const Dims& x, const Dims& y) const {
  Strided s{dims, x, y};
  for (size_t i = 0; i < y.size(); ++i) s.to_offset = s.to_offset + before[i] * y[i];
  return s;
}

Result<Ok> Pad::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  if (y.size() == 0) return Ok{};
  if (mode != "constant") {
    Tables tables = positions();
    const Ints strides = strides_of(x.shape());
    for (size_t i = 0; i < tables.size(); ++i) {
      for (int64_t& position : tables[i]) position *= strides[i];
    }
    pick_elements(tables, x, y);
    return Ok{};
  }
  const Dims at(y.shape().size());
  move_elements({to_dims(y.shape()), at, strides_of(y)}, c.has(1) ? c.in(1) : zero(), y);
  move_elements(inside(to_dims(x.shape()), strides_of(x), strides_of(y)), x, y);
  return Ok{};
}

Result<Ok> Pad::lower(Lowering& l) const {
  const Type& x = l.in_type(0);
  if (count(l.out_dims()) == 0) return Ok{};
  QC_TRY(l.param(count(l.out_dims())));
  if (mode != "constant") {
    QC_TRY(l.need_numbers());
    return call_table(l, physical_tables(positions(), x, l.out_type()), x.dtype, l.in(0), l.out());
  }
  const View value = l.has(1) ? l.in(1) : l.constant(zero(), "zero");
  if (x.layout != l.out_type().layout) {
    const Dims out = strides_of(l.out_type());
    QC_TRY(call_strided(l, {l.out_type().shape, Dims(out.size()), out}, x.dtype, value, l.out()));
    return call_strided(l, inside(x.shape, strides_of(x), out), x.dtype, l.in(0), l.out());
  }
  // In memory order; an axis without pads joins the one before it.
  Dims dims, low, high;
  const Dims physical = l.in_dims(0);
  Dims lows(physical.size()), highs(physical.size());
  for (size_t i = 0; i < physical.size(); ++i) {
    const size_t at = static_cast<size_t>(physical_axis(x, static_cast<int64_t>(i)));
    lows[at] = before[i];
    highs[at] = after[i];
  }
  for (size_t i = 0; i < physical.size(); ++i) {
    if (!dims.empty() && lows[i] == 0 && highs[i] == 0) {
      dims.back() = dims.back() * physical[i];
      low.back() = low.back() * physical[i];
      high.back() = high.back() * physical[i];
    } else {
      dims.push_back(physical[i]);
      low.push_back(lows[i]);
      high.push_back(highs[i]);
    }
  }
  kernel::Pad c;
  QC_TRY(fill_params(c.dims, dims, 1, loc()));
  QC_TRY(fill_params(c.before, low, 0, loc()));
  QC_TRY(fill_params(c.after, high, 0, loc()));
  c.bytes = std::to_string(bytes(x.dtype));
  c.x = l.in(0);
  c.value = value;
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

namespace {

/// The value without elements at its borders; the sizes are 0 or negative.
Result<Value*> cropped(const Import& m, Value* x, const Dims& low, const Dims& high) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < low.size(); ++i) {
    Range r{Dim(0) - low[i], x->shape()[i] + low[i] + high[i], Dim(1)};
    if (r.size.is_static() && r.size.value() < 0)
      return m.fail(Code::attribute, "pads take more than axis {} has", i);
    ranges.push_back(r);
  }
  return take(m, x, ranges);
}

/// Pads; negative ones take elements away. A mirrored or repeated border may show elements that are
/// taken away, so it is made first.
Result<Values> padded(const Import& m, Value* x, Dims before, Dims after, std::string_view mode,
                      Value* value) {
  const size_t rank = before.size();
  Dims low(rank), high(rank);
  bool pads = false;
  for (size_t i = 0; i < rank; ++i) {
    auto cut = [&](Dim& pad) {
      if (!pad.is_static() || pad.value() >= 0) return Dim(0);
      return std::exchange(pad, Dim(0));
    };
    low[i] = cut(before[i]);
    high[i] = cut(after[i]);
    pads = pads || !(before[i] == Dim(0)) || !(after[i] == Dim(0));
  }
  const bool border_first = mode == "reflect" || mode == "edge";
  if (!border_first || !pads) {
    QC_ASSIGN(x, cropped(m, x, low, high));
  }
  if (!pads) return Values{x};
  Values operands{x};
  if (value && mode == "constant") {
    QC_ASSIGN(value, m.cast(value, x->dtype()));
    QC_ASSIGN(value, reshaped(m, value, {}));
    operands.push_back(value);
  }
  QC_ASSIGN(Value * y, m.emit("pad", operands,
                              {{"before", before}, {"after", after}, {"mode", std::string(mode)}}));
  if (border_first) {
    QC_ASSIGN(y, cropped(m, y, low, high));
  }
  return Values{y};
}

/// ONNX lists all starts, then all ends, for `axes` (all axes when empty).
Result<Values> onnx_pads(const Import& m, const Dims& pads, Ints axes, Value* value) {
  Value* x = m.in(0);
  QC_ASSIGN(std::string mode, m.s("mode", "constant"));
  if (axes.empty()) {
    for (int64_t i = 0; i < x->rank(); ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size()) {
    return m.fail(Code::attribute, "{} pads for {} axes", pads.size(), axes.size());
  }
  Dims before(x->shape().size()), after(x->shape().size());
  for (size_t i = 0; i < axes.size(); ++i) {
    QC_ASSIGN(int64_t axis, resolve_axis(axes[i], x->rank(), m.loc()));
    before[static_cast<size_t>(axis)] = pads[i];
    after[static_cast<size_t>(axis)] = pads[i + axes.size()];
  }
  return padded(m, x, before, after, mode, value);
}

Result<Values> onnx_pad_attributes(Import& m) {
  QC_ASSIGN(Ints pads, m.ints(m.given("paddings") ? "paddings" : "pads", {}));
  QC_ASSIGN(double value, m.f("value", 0));
  return onnx_pads(m, to_dims(pads), {}, m.scalar(value, m.in(0)->dtype()));
}

Result<Values> onnx_pad(Import& m) {
  if (!m.has(1)) return m.fail(Code::graph, "pads are missing");
  QC_ASSIGN(Dims pads, m.known(m.in(1), "pads"));
  Ints axes;
  if (m.has(3)) {
    QC_ASSIGN(axes, m.known_static(m.in(3), "axes"));
    if (axes.empty()) return Values{m.in(0)};
  }
  return onnx_pads(m, pads, axes, m.in(2));
}

/// PyTorch lists pairs from the last axis backwards.
Result<Values> aten_pads(const Import& m, std::string_view list, std::string mode, Value* value) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims pads, m.dims(list));
  if (mode == "replicate") mode = "edge";
  if (mode == "circular") mode = "wrap";
  const size_t rank = x->shape().size();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) {
    return m.fail(Code::attribute, "{} pads for a tensor of rank {}", pads.size(), rank);
  }
  Dims before(rank), after(rank);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    before[rank - 1 - i] = pads[2 * i];
    after[rank - 1 - i] = pads[2 * i + 1];
  }
  return padded(m, x, before, after, mode, value);
}

Result<Values> aten_pad(Import& m) {
  QC_ASSIGN(std::string mode, m.s("mode", "constant"));
  Value* value = nullptr;
  if (m.given("value")) {
    QC_ASSIGN(const Value* x, m.tensor("self"));
    QC_ASSIGN(value, m.tensor_as("value", x->dtype()));
  }
  return aten_pads(m, "pad", mode, value);
}

Result<Values> aten_reflection_pad(Import& m) {
  return aten_pads(m, "padding", "reflect", nullptr);
}
Result<Values> aten_replication_pad(Import& m) { return aten_pads(m, "padding", "edge", nullptr); }

constexpr ImportRow kRows[] = {
    {"", "Pad", onnx_pad_attributes},
    {"", "Pad", onnx_pad, 11},
    {"aten", "pad.default", aten_pad},
    {"aten", "constant_pad_nd.default", aten_pad},
    {"aten", "reflection_pad1d.default", aten_reflection_pad},
    {"aten", "reflection_pad2d.default", aten_reflection_pad},
    {"aten", "reflection_pad3d.default", aten_reflection_pad},
    {"aten", "replication_pad1d.default", aten_replication_pad},
    {"aten", "replication_pad2d.default", aten_replication_pad},
    {"aten", "replication_pad3d.default", aten_replication_pad},
};

}  // namespace

void register_pad(Registration& r) {
  r.op<Pad>();
  r.imports(kRows);
}

}  // namespace qc
