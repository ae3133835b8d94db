#include <algorithm>
#include <cstring>

#include "interp/eval.h"
#include "ir/padding.h"
#include "ir/relations.h"
#include "kernels/cast/calls.h"
#include "kernels/pad_or_trim/calls.h"
#include "kernels/sequence/calls.h"
#include "ops/common/index.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {

/// The first `valid` elements of the operand along an axis, then operand 1 (zero bytes without it,
/// with `repeat` the last of these elements) up to `size`. It pads a value to a bucket, overwrites
/// padding and cuts it off.
class PadOrTrim final : public OpNode<PadOrTrim>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;
  Dim size, valid;
  bool repeat = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    v("size", size);
    v("valid", valid);
    v("repeat", repeat, false);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  Result<Ok> pad(PaddedNode& c) override;
};

const OpInfo PadOrTrim::kInfo = {
    .name = "pad_or_trim",
    .max_inputs = 2,
    .summary = "the first elements along an axis, then a value up to a given size",
};

Result<std::vector<Type>> PadOrTrim::infer() const {
  const Type& x = input_type(0);
  if (axis < 0 || axis >= x.rank())
    return error(Code::attribute, loc(), "axis {} is out of range for {}", axis, str(x));
  const bool plain = input(1) && !input_type(1).format && input_type(1).dtype == x.dtype;
  if (input(1) && (input_type(1).rank() != 0 || !(plain || input_type(1).quant() == x.quant()))) {
    return error(Code::type, loc(), "the value is {}, expected one {}", str(input_type(1)),
                 str(x.quant()));
  }
  if (repeat && input(1)) return error(Code::attribute, loc(), "a value, and elements repeated");
  if (bits(x.dtype) < 8) return error(Code::unsupported, loc(), "elements of {}", name(x.dtype));
  for (const Dim& d : {size, valid}) {
    if (exceeds(0, d) || exceeds(d, INT32_MAX))
      return error(Code::attribute, loc(), "{} elements along axis {}", d.str(), axis);
  }
  Type y = moved(x, x.shape);
  y.shape[static_cast<size_t>(axis)] = size;
  return std::vector<Type>{y};
}

/// Elements before the padding stay the first ones, and no more of them are taken over.
Result<Ok> PadOrTrim::pad(PaddedNode& c) {
  const size_t at = static_cast<size_t>(axis);
  const std::optional<Dim> elements = elements_before(c.parts(0, axis));
  if (c.is_padded(0, axis)) {
    if (!elements) return c.refuse("padding lies between the elements that are fitted");
    if (!(valid == *elements)) valid = min(valid, *elements);
  }
  Padding to = c.padding(0);
  to[at] = c.dim().in(size) ? AxisSegments{{size, true}} : AxisSegments{};
  size = c.dim().resized(size);
  c.set_result(std::move(to));
  return Ok{};
}

Result<Ok> PadOrTrim::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const size_t at = static_cast<size_t>(axis), element = bytes(x.dtype());
  int64_t inner = 1;
  for (size_t i = at + 1; i < x.shape().size(); ++i) inner *= x.shape()[i];
  const int64_t from = x.shape()[at], to = y.shape()[at];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t row = i / inner % to, block = i / inner / to;
    std::byte* out = y.mutable_bytes().data() + static_cast<size_t>(i) * element;
    const int64_t taken = std::min(valid.value(), from);
    const int64_t source =
        (block * from + std::min(row, std::max<int64_t>(taken, 1) - 1)) * inner + i % inner;
    if (row < taken || (repeat && taken > 0)) {
      std::memcpy(out, x.bytes().data() + static_cast<size_t>(source) * element, element);
    } else if (c.has(1)) {
      std::memcpy(out, c.in(1).bytes().data(), element);
    } else {
      std::memset(out, 0, element);
    }
  }
  return Ok{};
}

Result<Ok> PadOrTrim::lower(Lowering& l) const {
  const Dims x = l.in_dims(0), y = l.out_dims();
  const size_t at = static_cast<size_t>(axis);
  QC_TRY(l.param(count(x)));
  QC_TRY(l.param(count(y)));
  kernel::PadOrTrim c;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(at);
  c.outer = product(Dims(x.begin(), middle));
  c.from = x[at];
  c.to = size;
  c.valid = valid;
  c.inner = product(Dims(middle + 1, x.end()));
  c.repeat = repeat ? 1 : 0;
  c.bytes = std::to_string(bytes(l.in_type(0).dtype));
  c.x = l.in(0);
  c.value = l.optional(1);
  c.y = l.out();
  CallInfo info;
  if (x[at] == size) info.in_place = {{0, 0}};
  l.emit(c, std::move(info));
  return Ok{};
}

/// Whether a size is at most a limit.
class AtMost final : public OpNode<AtMost> {
 public:
  static const OpInfo kInfo;
  Dim size;
  int64_t limit = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("size", size);
    v("limit", limit);
  }
  Result<std::vector<Type>> infer() const override {
    return std::vector<Type>{Type(DType::boolean, {})};
  }
  Result<Ok> eval(EvalContext& c) const override {
    if (!size.is_static())
      return error(Code::dim, loc(), "size {} is not known; bind its dimensions", size.str());
    c.out(0).set_int(0, size.value() <= limit ? 1 : 0);
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    kernel::Sizes sizes;
    sizes.n = 1;
    sizes.values[0] = max(Dim(limit) + Dim(1) - size, Dim(0));
    sizes.y = l.scratch(DType::i64, {1}, "room");
    l.emit(sizes);
    kernel::Cast cast;
    cast.n = 1;
    cast.from = name(DType::i64);
    cast.to = name(DType::boolean);
    cast.x = sizes.y;
    cast.y = l.out();
    l.emit(cast);
    return Ok{};
  }
};

const OpInfo AtMost::kInfo = {
    .name = "at_most",
    .min_inputs = 0,
    .max_inputs = 0,
    .summary = "whether a size is at most a limit",
};

void register_pad_or_trim(Registration& r) {
  r.op<PadOrTrim>();
  r.op<AtMost>();
}

}  // namespace qc
