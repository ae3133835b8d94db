#include "ops/quantize/quantize.h"

#include <fmt/ranges.h>

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "kernels/quantize/calls.h"
#include "ops/common/registration.h"
#include "ops/quantize/epilogue.h"
#include "program/lowering.h"

namespace qc {
namespace {

Result<Ok> check_record(const Node& n, const std::string& arithmetic) {
  auto parsed = parse_arithmetic(arithmetic);
  if (!parsed.ok()) return error(Code::attribute, n.loc(), "{}", parsed.diag().text);
  return Ok{};
}

Result<Ok> check_operand(const Node& n, DType dtype) {
  if (n.input_type(0).dtype != dtype || n.input_type(0).format) {
    return error(Code::type, n.loc(), "expected {} values, got {}", name(dtype),
                 str(n.input_type(0)));
  }
  return Ok{};
}

std::string layout_name(Layout layout) {
  return layout == Layout::channels_last ? "nhwc" : "row_major";
}

/// Sets the layout of the result `y`: as `x`, or the one that is named.
Result<Ok> set_layout(const Node& n, const std::string& named, const Type& x, Type& y) {
  y.layout = named == "nhwc" ? Layout::channels_last : Layout::row_major;
  if (named.empty()) y.layout = x.layout;
  if (!named.empty() && named != layout_name(y.layout)) {
    return error(Code::attribute, n.loc(), "layout '{}' is neither 'nhwc' nor 'row_major'", named);
  }
  if (!named.empty() && (x.rank() < 3 || x.rank() > 5)) {
    return error(Code::shape, n.loc(), "a layout needs rank 3 to 5, got {}", str(x.shape));
  }
  return Ok{};
}

/// Codes that the kernels of another layout take.
bool can_transpose(const QType& codes) {
  return codes.format && codes.format->granularity == Granularity::tensor &&
         !codes.format->is_dynamic() && bits(codes.dtype) >= 8 && bits(codes.dtype) <= 16;
}

/// Sizes of a change of layout: [batch][rows][columns] becomes [batch][columns][rows].
struct Transpose {
  Dim batch = 0, rows = 0, columns = 0;
  void fill(auto& call) const {
    call.batch = batch;
    call.rows = rows;
    call.columns = columns;
  }
};

/// Nullopt where both sides are the same bytes.
Result<std::optional<Transpose>> transposed(const Lowering& l, const Type& x, const Type& y) {
  if (x.layout == y.layout) return std::optional<Transpose>();
  QC_ASSIGN(const Dim count, l.param(product(x.shape)));
  if (count == 0) return std::optional<Transpose>();
  const Dim& channels = x.shape[1];
  const Dim positions = product(Dims(x.shape.begin() + 2, x.shape.end()));
  if (channels == 1 || positions == 1) return std::optional<Transpose>();
  const bool to_last = x.layout == Layout::row_major;
  return std::optional(
      Transpose{x.shape[0], to_last ? channels : positions, to_last ? positions : channels});
}

}  // namespace

const OpInfo Quantize::kInfo = {
    .name = "quantize",
    .traits = kAnyLayout | kKeepsConstant,
    .summary = "f32 values to integer codes with static scales and zero points",
};

void Quantize::attrs(AttrVisitor& v) {
  v("to", to);
  v("arithmetic", arithmetic, std::string("exact"));
  v("layout", layout, std::string());
}

std::string Quantize::parameters() const {
  const Format& f = *to.format;
  const bool reciprocal = parsed_arithmetic().quantize == Arithmetic::Quantize::reciprocal;
  std::string out = fmt::format("{} {}..{} {} {}", name(to.dtype), f.qmin, f.qmax, layout,
                                reciprocal ? "times" : "over");
  if (f.granularity != Granularity::tensor) out += fmt::format(" axis {}", f.axis);
  if (f.granularity == Granularity::group) out += fmt::format(" group {}", f.group);
  for (float s : divisors(f, reciprocal)) out += fmt::format(" {:a}", s);
  std::vector<int32_t> zeros = zero_points(f);
  if (!zeros.empty()) zeros.resize(static_cast<size_t>(f.scale.values.size()), zeros[0]);
  return out + fmt::format(" zero {}", fmt::join(zeros, " "));
}

std::unique_ptr<Node> Quantize::with_scales(const Format& format) const {
  auto node = std::make_unique<Quantize>(*this);
  node->to.format = std::make_shared<Format>(format);
  return node;
}

bool Quantize::can_write_layout() const { return can_transpose(to); }
void Quantize::write_layout(Layout to_layout) { layout = layout_name(to_layout); }

Result<std::vector<Type>> Quantize::infer() const {
  QC_TRY(check_operand(*this, DType::f32));
  QC_TRY(check_record(*this, arithmetic));
  Type y(to, input_type(0).shape);
  QC_TRY(set_layout(*this, layout, input_type(0), y));
  QC_TRY(check_format(y, loc()));
  if (to.format->is_dynamic()) {
    return error(Code::quant, loc(), "quantize needs static scales: use quantize_dynamic");
  }
  if (y.layout != input_type(0).layout && !can_transpose(to)) {
    return error(Code::quant, loc(), "another layout needs one scale, got {}", str(y));
  }
  if (bits(to.dtype) > 16) return error(Code::type, loc(), "codes of type {}", name(to.dtype));
  return std::vector<Type>{std::move(y)};
}

QuantizeEpilogue Quantize::as_epilogue() const {
  return {.dynamic = false, .to = to, .arithmetic = arithmetic};
}

std::optional<QuantizeEpilogue> Quantize::epilogue() const {
  return layout.empty() ? std::optional(as_epilogue()) : std::nullopt;
}

Result<Ok> Quantize::eval(EvalContext& c) const {
  eval_epilogue(as_epilogue(), c.in(0), c, output()->type());
  return Ok{};
}

Result<Ok> Quantize::lower(Lowering& l) const {
  const bool reciprocal = parsed_arithmetic().quantize == Arithmetic::Quantize::reciprocal;
  const auto emit = [&](auto& c) {
    c.lo = static_cast<int32_t>(to.format->qmin);
    c.hi = static_cast<int32_t>(to.format->qmax);
    c.reciprocal = reciprocal ? 1 : 0;
    c.codes = code_suffix(to.dtype);
    c.scales = float_constant(l, divisors(*to.format, reciprocal));
    c.x = l.in(0);
    c.zeros = zero_constant(l, l.out_type());
    c.y = l.out();
    l.emit(c);
    return Ok{};
  };
  QC_ASSIGN(const auto sizes, transposed(l, l.in_type(0), l.out_type()));
  if (sizes) {
    kernel::QuantizeTransposed c;
    sizes->fill(c);
    return emit(c);
  }
  QC_ASSIGN(const GroupLoops loops, group_loops(l, l.out_type()));
  kernel::Quantize c;
  loops.fill(c);
  return emit(c);
}

Result<Ok> Quantize::store_unsigned(Graph&, bool, bool results) {
  if (results) to = unsigned_codes(to).value();
  return Ok{};
}

const OpInfo Dequantize::kInfo = {
    .name = "dequantize",
    .min_inputs = 1,
    .max_inputs = 3,
    .traits = kAnyLayout | kKeepsConstant,
    .summary = "integer codes to the f32 values they stand for",
};

void Dequantize::attrs(AttrVisitor& v) {
  QuantOp::attrs(v);
  v("layout", layout, std::string());
}

bool Dequantize::can_write_layout() const { return can_transpose(input_type(0).quant()); }
void Dequantize::write_layout(Layout to_layout) { layout = layout_name(to_layout); }

Result<std::vector<Type>> Dequantize::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check_format(x, loc()));
  if (bits(x.dtype) > 16 && x.dtype != DType::i32) {
    return error(Code::type, loc(), "codes of type {}, expected at most 16 bits or i32",
                 name(x.dtype));
  }
  const bool dynamic = x.format->is_dynamic();
  if (dynamic != (input(1) != nullptr)) {
    return error(Code::graph, loc(), "{} scales as an operand for {}", dynamic ? "expected" : "got",
                 str(x));
  }
  if (dynamic) {
    const Type& s = input_type(1);
    if (s.dtype != DType::f32 || (input(2) && input_type(2).dtype != DType::i32)) {
      return error(Code::type, loc(), "scales and zero points must be f32 and i32");
    }
    const std::optional<Dims> want = carried_shape(x);
    if (!want || !(product(s.shape) == product(*want)) ||
        (input(2) && !(product(input_type(2).shape) == product(*want)))) {
      return error(Code::shape, loc(), "scales {} for {}", str(s.shape), str(x));
    }
  }
  Type y(DType::f32, x.shape);
  QC_TRY(set_layout(*this, layout, x, y));
  if (y.layout != x.layout && !can_transpose(x.quant())) {
    return error(Code::quant, loc(), "another layout needs one scale, got {}", str(x));
  }
  return std::vector<Type>{std::move(y)};
}

Result<Ok> Dequantize::eval(EvalContext& c) const {
  const Type& type = input_type(0);
  const Tensor& x = c.in(0);
  float* y = c.out(0).mutable_data<float>();
  const bool dynamic = type.format->is_dynamic();
  const std::vector<float> known = dynamic ? std::vector<float>{} : divisors(*type.format, false);
  const std::vector<int32_t> zeros = zero_points(*type.format);
  const float* scales = dynamic ? c.in(1).data<float>() : known.data();
  const int32_t* points = dynamic ? (c.has(2) ? c.in(2).data<int32_t>() : nullptr)
                                  : (zeros.empty() ? nullptr : zeros.data());
  const bool one_zero = !dynamic && zeros.size() == 1;
  Groups(type).for_each([&](int64_t i, int64_t g) {
    const int32_t zero = points ? points[one_zero ? 0 : g] : 0;
    y[i] = qn_dequantize(static_cast<int32_t>(x.as_int(i)), scales[g], zero);
  });
  return Ok{};
}

Result<Ok> Dequantize::lower(Lowering& l) const {
  const Type& type = l.in_type(0);
  const bool dynamic = type.format->is_dynamic();
  const auto emit = [&](auto& c) {
    c.codes = code_suffix(type.dtype);
    c.scales = dynamic ? l.in(1) : float_constant(l, divisors(*type.format, false));
    c.zeros = dynamic ? l.optional(2) : zero_constant(l, type);
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c);
    return Ok{};
  };
  QC_ASSIGN(const auto sizes, transposed(l, type, l.out_type()));
  if (sizes) {
    kernel::DequantizeTransposed c;
    sizes->fill(c);
    return emit(c);
  }
  QC_ASSIGN(const GroupLoops loops, group_loops(l, type));
  kernel::Dequantize c;
  loops.fill(c);
  return emit(c);
}

const OpInfo Requantize::kInfo = {
    .name = "requantize",
    .traits = kElementwise | kAnyLayout | kKeepsConstant,
    .summary = "codes of one format to codes of another, per tensor",
};

void Requantize::attrs(AttrVisitor& v) {
  v("to", to);
  v("arithmetic", arithmetic, std::string("exact"));
}

Result<std::vector<Type>> Requantize::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check_format(x, loc()));
  QC_TRY(check_record(*this, arithmetic));
  Type y(to, x.shape);
  y.layout = x.layout;
  QC_TRY(check_format(y, loc()));
  for (const Format* f : {x.format.get(), to.format.get()}) {
    if (f->granularity != Granularity::tensor || f->is_dynamic()) {
      return error(Code::quant, loc(), "requantize needs one static scale, got {}", str(x));
    }
  }
  if (bits(to.dtype) > 16 || bits(x.dtype) > 16) {
    return error(Code::type, loc(), "codes of {} and {}", name(x.dtype), name(to.dtype));
  }
  return std::vector<Type>{std::move(y)};
}

namespace {

/// The code of `to` that code x of `from` becomes.
int32_t requantized(int64_t x, const Format& from, const Format& to, bool reciprocal) {
  const float v = qn_dequantize(static_cast<int32_t>(x), from.scale_at(), from.zero_at());
  const float s = divisors(to, reciprocal)[0];
  return qn_code(reciprocal ? qn_mulf(v, s) : v / s, to.zero_at(), static_cast<int32_t>(to.qmin),
                 static_cast<int32_t>(to.qmax));
}

}  // namespace

Result<Ok> Requantize::eval(EvalContext& c) const {
  const Format& from = *input_type(0).format;
  const bool reciprocal = parsed_arithmetic().quantize == Arithmetic::Quantize::reciprocal;
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    c.out(0).set_int(i, requantized(c.in(0).as_int(i), from, *to.format, reciprocal));
  }
  return Ok{};
}

Result<Ok> Requantize::lower(Lowering& l) const {
  const Type& x = l.in_type(0);
  const bool reciprocal = parsed_arithmetic().quantize == Arithmetic::Quantize::reciprocal;
  QC_ASSIGN(const Dim n, l.param(product(x.shape)));
  if (bits(x.dtype) <= 8) {
    Tensor table(to.dtype, {256});
    for (int i = 0; i < 256; ++i) {
      const int64_t code = is_signed(x.dtype) && i > 127 ? i - 256 : i;
      table.set_int(i, requantized(code, *x.format, *to.format, reciprocal));
    }
    lower_lookup(l, n, l.constant(std::move(table), "requantize table"));
    return Ok{};
  }
  kernel::Requantize c;
  c.n = n;
  c.sx = x.format->scale_at();
  c.sy = divisors(*to.format, reciprocal)[0];
  c.zx = x.format->zero_at();
  c.zy = to.format->zero_at();
  c.lo = static_cast<int32_t>(to.format->qmin);
  c.hi = static_cast<int32_t>(to.format->qmax);
  c.reciprocal = reciprocal ? 1 : 0;
  c.from = code_suffix(x.dtype);
  c.to = code_suffix(to.dtype);
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

Result<Ok> Requantize::store_unsigned(Graph&, bool, bool results) {
  if (results) to = unsigned_codes(to).value();
  return Ok{};
}

const OpInfo QuantizeDynamic::kInfo = {
    .name = "quantize_dynamic",
    .outputs = 3,
    .traits = kKeepsConstant,
    .summary = "f32 values to codes, scales and zero points found from the values at run time",
};

void QuantizeDynamic::attrs(AttrVisitor& v) {
  v("to", to);
  v("symmetric", symmetric, false);
  v("per_token", per_token, false);
}

std::string QuantizeDynamic::parameters() const {
  return fmt::format("{} {} {}", name(to), symmetric ? "symmetric" : "", per_token ? "rows" : "");
}

std::optional<QuantizeEpilogue> QuantizeDynamic::epilogue() const {
  return QuantizeEpilogue{
      .dynamic = true, .to = QType{to, nullptr}, .symmetric = symmetric, .per_token = per_token};
}

Result<std::vector<Type>> QuantizeDynamic::infer() const {
  return epilogue()->types(input_type(0), loc());
}

Result<Ok> QuantizeDynamic::eval(EvalContext& c) const {
  eval_epilogue(*epilogue(), c.in(0), c, output()->type());
  return Ok{};
}

Result<Ok> QuantizeDynamic::lower(Lowering& l) const {
  const Dims& shape = input_type(0).shape;
  QC_TRY(l.param(product(shape)));
  const Format& f = *output()->type().format;
  kernel::DynamicQuantize c;
  c.n = per_token ? shape.back() : product(shape);
  c.rows = c.n == 0 ? Dim(0) : per_token ? product(Dims(shape.begin(), shape.end() - 1)) : Dim(1);
  c.lo = static_cast<int32_t>(f.qmin);
  c.hi = static_cast<int32_t>(f.qmax);
  c.symmetric = symmetric ? 1 : 0;
  if (strided_alias(input(0))) {
    const RowBlocks blocks = *row_blocks(shape, strides_in(*this, 0));
    c.run = blocks.rows * shape.back();
    QC_ASSIGN(c.x_run, l.param(blocks.stride));
  }
  c.codes = code_suffix(to);
  c.x = l.in(0);
  c.y = l.out(0);
  c.scales = l.out(1);
  c.zeros = l.out(2);
  l.emit(c);
  return Ok{};
}

const OpInfo WithFormat::kInfo = {
    .name = "with_format",
    .traits = kElementwise | kReshapes | kAnyLayout | kKeepsConstant,
    .summary = "integers seen as codes of a format, or codes seen as integers",
};

Result<std::vector<Type>> WithFormat::infer() const {
  const Type& x = input_type(0);
  if (x.dtype != to.dtype) {
    return error(Code::type, loc(), "{} values seen as {}", name(x.dtype), name(to.dtype));
  }
  Type y(to, x.shape);
  y.layout = x.layout;
  if (to.format) QC_TRY(check_format(y, loc()));
  return std::vector<Type>{std::move(y)};
}

Result<Ok> WithFormat::eval(EvalContext& c) const {
  c.set_out(0, c.in(0));
  return Ok{};
}

Result<Ok> WithFormat::lower(Lowering& l) const {
  if (const auto at = strided_alias(output())) {
    l.alias_strided(0, l.in(0), at->strides);
  } else {
    l.alias(0, l.in(0));
  }
  return Ok{};
}

const OpInfo Lookup::kInfo = {
    .name = "lookup",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kAnyLayout,
    .summary = "codes of 8 bits through a table: any function of one quantized value",
};

Result<std::vector<Type>> Lookup::infer() const {
  const Type &x = input_type(0), &table = input_type(1);
  QC_TRY(check_quantized({0}));
  if (bits(x.dtype) > 8 || table.dtype != to.dtype || table.shape != Dims{Dim(256)}) {
    return error(Code::type, loc(), "lookup of {} in a table {}", str(x), str(table));
  }
  return result(x.shape, x.layout);
}

Result<Ok> Lookup::eval(EvalContext& c) const {
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    c.out(0).set_int(i, c.in(1).as_int(c.in(0).as_int(i) & 255));
  }
  return Ok{};
}

Result<Ok> Lookup::lower(Lowering& l) const {
  QC_ASSIGN(const Dim n, l.param(product(l.in_type(0).shape)));
  if (strided_alias(input(0))) {
    const Dims& dims = l.in_type(0).shape;
    kernel::LookupRows c;
    c.outer = product(Dims(dims.begin(), dims.end() - 1));
    c.n = dims.back();
    QC_ASSIGN(c.x_row, l.param(strides_in(*this, 0)[dims.size() - 2]));
    c.bits = bits(to.dtype) > 8 ? "16" : "8";
    c.x = l.in(0);
    c.table = l.in(1);
    c.y = l.out();
    l.emit(c);
    return Ok{};
  }
  lower_lookup(l, n, l.in(1));
  return Ok{};
}

Result<Ok> Lookup::store_unsigned(Graph& graph, bool operand, bool results) {
  QC_ASSIGN(const Tensor old, graph.pool().get(input(1)->constant()));
  Tensor table(results ? DType::u8 : old.dtype(), old.shape());
  for (int64_t i = 0; i < table.size(); ++i) {
    const int64_t code = old.as_int(operand ? i ^ 128 : i);
    table.set_int(i, results ? code + 128 : code);
  }
  graph.set_input(this, 1, graph.constant(std::move(table)));
  return QuantNodeBase::store_unsigned(graph, operand, results);
}

void register_quantize(Registration& r) {
  r.op<Quantize>();
  r.op<Dequantize>();
  r.op<Requantize>();
  r.op<QuantizeDynamic>();
  r.op<WithFormat>();
  r.op<Lookup>();
}

}  // namespace qc
