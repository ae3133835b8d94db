// torchao's ops: blocks of any shape share a scale.
#include <cmath>
#include <optional>

#include "ops/common/importing.h"
#include "ops/quantize_torch/codes.h"

namespace qc::torch_codes {
namespace {

/// An operand seen in blocks: axes that are cut have two dims, `axes` lie within a block.
struct Blocks {
  Dims wide, one_each;  // the operand's shape, and that of its scales
  Dims remaining;       // the scales' without the axes within blocks
  Dims counts;          // blocks per axis of the operand
  Ints axes;
  bool rows = false;                       // each block is a row of the last axis
  std::optional<int64_t> one_axis, group;  // a scale per index of an axis, or per group of it
};
Blocks blocks_of(Compose& c, const Value* x) {
  const Import& m = c.import();
  const Ints block = c.take(m.ints("block_size", {}));
  Blocks out;
  if (!c.ok()) return out;
  if (static_cast<int64_t>(block.size()) != x->rank()) {
    c.fail(Code::shape, "block size of rank {} for {}", block.size(), str(x->shape()));
    return out;
  }
  int cuts = 0, singles = 0;
  out.rows = !block.empty();
  for (size_t i = 0; i < block.size(); ++i) {
    const Dim& d = x->shape()[i];
    if (block[i] < 1 || (block[i] > 1 && (!d.is_static() || d.value() % block[i] != 0))) {
      c.fail(Code::shape, "blocks of {} along axis {} of {}", block[i], i, str(x->shape()));
      return out;
    }
    const bool whole = d == Dim(block[i]);
    out.rows = out.rows && (i + 1 == block.size() ? whole : block[i] == 1);
    if (!whole) {
      ++(block[i] == 1 ? singles : cuts);
      out.one_axis = static_cast<int64_t>(i);
    }
    const Dim count = block[i] == 1 ? d : Dim(d.value() / block[i]);
    out.counts.push_back(count);
    if (!whole || block[i] == 1) {
      out.wide.push_back(count);
      out.one_each.push_back(count);
      out.remaining.push_back(count);
    }
    if (block[i] == 1) continue;
    out.axes.push_back(static_cast<int64_t>(out.wide.size()));
    out.wide.push_back(Dim(block[i]));
    out.one_each.push_back(Dim(1));
  }
  for (size_t i = 0; i < block.size(); ++i) {
    if (block[i] > 1 && !(x->shape()[i] == Dim(block[i]))) {
      out.one_axis = static_cast<int64_t>(i);
      out.group = block[i];
    }
  }
  if (cuts > 1 || (cuts == 0 && singles > 1)) out.one_axis = std::nullopt;
  return out;
}

/// Scales known when compiling, of blocks that are a granularity of formats.
std::shared_ptr<Format> known_format(Compose& c, const Codes& codes, const Blocks& blocks,
                                     Value* scale, Value* zero) {
  const bool known = scale->is_constant() && (!zero || zero->is_constant());
  if (!known || (!blocks.one_axis && !(product(scale->shape()) == Dim(1)))) return nullptr;
  return listed(c, codes, scale, zero, blocks.one_axis.value_or(0), blocks.group.value_or(0));
}

Result<Values> quantize_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "output_dtype");
  auto [x, scale, zero] = read_operands(c, "scale", "zero_point");
  if (!c.ok()) return c.done({});
  const Blocks blocks = blocks_of(c, x);
  if (!c.ok()) return c.done({});
  if (auto format = known_format(c, codes, blocks, scale, zero)) {
    return c.done({quantized(c, x, codes, std::move(format))});
  }
  if (!zero) zero = c.number(0, DType::i32);
  const bool one = product(zero->shape()) == Dim(1);
  scale = c.reshape(scale, blocks.one_each);
  zero = c.reshape(zero, one ? Dims{} : blocks.one_each);
  Value* view = c.reshape(x, blocks.wide);
  return c.done({c.reshape(encode_at_run_time(c, view, scale, zero, codes), x->shape())});
}

Result<Values> dequantize_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "input_dtype");
  auto [q, scale, zero] = read_operands(c, "scale", "zero_point");
  const DType to = c.take(m.dtype("output_dtype", DType::f32));
  if (!c.ok()) return c.done({});
  const Blocks blocks = blocks_of(c, q);
  if (!c.ok()) return c.done({});
  if (auto format = known_format(c, codes, blocks, scale, zero)) {
    return c.done({c.cast(dequantized(c, q, codes, std::move(format)), to)});
  }
  if (!zero) zero = c.number(0, DType::i32);
  const bool one = product(scale->shape()) == Dim(1);
  const bool same = zero->shape() == scale->shape();
  if (one && product(zero->shape()) == Dim(1)) {
    return c.done({c.cast(decode_at_run_time(c, q, c.reshape(scale, {}), c.reshape(zero, {}), codes,
                                             format_of(codes)),
                          to)});
  }
  if (blocks.rows && same) {
    Value* y = decode_at_run_time(c, q, c.reshape(scale, blocks.counts),
                                  c.reshape(zero, blocks.counts), codes, rows_of(c, codes, q));
    return c.done({c.cast(y, to)});
  }
  Value* v = c.cast(c.reshape(q, blocks.wide), DType::f32);
  v = c("Sub", {v, c.cast(c.reshape(zero, same ? blocks.one_each : Dims{}), DType::f32)});
  v = c("Mul", {v, c.cast(c.reshape(scale, blocks.one_each), DType::f32)});
  return c.done({c.cast(c.reshape(v, q->shape()), to)});
}

/// Scale and zero point of every block, in the operand's type.
Result<Values> choose_qparams_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "target_dtype");
  Value* x = c.take(m.tensor("input"));
  const std::string mapping = c.take(m.s("mapping_type", ""));
  if (!c.ok()) return c.done({});
  const DType in = x->dtype();
  const double smallest = in == DType::f16 ? 0x1p-14 : 0x1p-126;
  const double eps = c.take(m.f("eps", smallest));
  const DType scale_type = c.take(m.dtype("scale_dtype", in));
  const bool keepdim = c.take(m.b("keepdim", false));
  const Blocks blocks = blocks_of(c, x);
  if (!c.ok()) return c.done({});
  if (blocks.axes.empty()) return m.fail(Code::unsupported, "blocks of one element");
  const bool symmetric = mapping == "SYMMETRIC", clipless = mapping == "SYMMETRIC_NO_CLIPPING_ERR";
  if (!symmetric && !clipless && mapping != "ASYMMETRIC") {
    return m.fail(Code::attribute, "mapping type '{}'", mapping);
  }
  auto number = [&](double v) { return c.number(v, in); };
  const double lo = static_cast<double>(codes.qmin), hi = static_cast<double>(codes.qmax);
  Value* view = c.reshape(x, blocks.wide);
  auto extreme = [&](std::string_view reduce, std::string_view with_zero) {
    Value* v = c(reduce, {view, c.ints(blocks.axes)}, {{"keepdims", int64_t{1}}});
    return c(with_zero, {v, number(0)});
  };
  Value *least = extreme("ReduceMin", "Min"), *most = extreme("ReduceMax", "Max");
  Value *scale = nullptr, *zero = nullptr;
  if (symmetric) {
    scale = c("Div", {c("Max", {c("Neg", {least}), most}), number((hi - lo) / 2)});
  } else if (clipless) {
    scale = c("Max", {c("Div", {least, number(lo)}), c("Div", {most, number(hi)})});
  } else {
    scale = c("Div", {c("Sub", {most, least}), number(hi - lo)});
  }
  scale = c("Max", {scale, number(eps)});
  if (symmetric || clipless) {
    const double middle = std::trunc((hi + lo + 1) / 2);
    zero = c.clamp(scale, middle, middle);
  } else {
    zero = c("Sub", {number(lo), c("Round", {c("Div", {least, scale})})});
    zero = c.clamp(zero, lo, hi);
  }
  const DType zero_type =
      c.take(m.dtype("zero_point_dtype", symmetric || clipless ? in : DType::i32));
  const Dims shape = keepdim ? blocks.counts : blocks.remaining;
  return c.done(
      {c.reshape(c.cast(scale, scale_type), shape), c.reshape(c.cast(zero, zero_type), shape)});
}

constexpr ImportRow kAffineRows[] = {
    {"torchao", "choose_qparams_affine.default", choose_qparams_affine},
    {"torchao", "quantize_affine.default", quantize_affine},
    {"torchao", "dequantize_affine.default", dequantize_affine},
};

}  // namespace

std::span<const ImportRow> affine_rows() { return kAffineRows; }

}  // namespace qc::torch_codes
