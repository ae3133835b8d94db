#include "interp/eval.h"
#include "ir/padding.h"
#include "kernels/bad_index/calls.h"
#include "ops/common/index.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

/// {number, index} of the first index of operand 0 that is out of range, {0, 0} where none is;
/// operand 1 where an earlier check found one. Index k counts along an axis of sizes[k % depth]
/// elements. Programs that check indices have one for each op whose indices a run computes.
class BadIndex final : public OpNode<BadIndex>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  Dims sizes;
  int64_t number = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("sizes", sizes);
    v("number", number);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  Result<Ok> pad(PaddedNode& c) override;
};

const OpInfo BadIndex::kInfo = {
    .name = "bad_index",
    .max_inputs = 2,
    .summary = "the first index that is out of range, with the number of the check",
};

Result<std::vector<Type>> BadIndex::infer() const {
  const Type& index = input_type(0);
  const Type found(DType::i64, {2});
  QC_TRY(check_index(index, loc()));
  if (sizes.empty() || sizes.size() > 8)
    return error(Code::attribute, loc(), "{} sizes, expected 1 to 8", sizes.size());
  if (number < 1 || number > INT32_MAX)
    return error(Code::attribute, loc(), "the check has number {}", number);
  if (input(1) && (input_type(1).dtype != found.dtype || input_type(1).shape != found.shape))
    return error(Code::type, loc(), "the earlier check is {}, expected {}", str(input_type(1)),
                 str(found));
  return std::vector<Type>{found};
}

Result<Ok> BadIndex::eval(EvalContext& c) const {
  Tensor& y = c.out(0);
  if (c.has(1) && c.in(1).as_int(0) != 0) {
    for (int64_t i = 0; i < 2; ++i) y.set_int(i, c.in(1).as_int(i));
    return Ok{};
  }
  const Tensor& x = c.in(0);
  for (int64_t i = 0; i < x.size(); ++i) {
    const Dim& size = sizes[static_cast<size_t>(i) % sizes.size()];
    if (!size.is_static())
      return error(Code::dim, loc(), "size {} is not known; bind its dimensions", size.str());
    const int64_t index = x.as_int(i);
    if (index >= -size.value() && index < size.value()) continue;
    y.set_int(0, number);
    y.set_int(1, index);
    break;
  }
  return Ok{};
}

Result<Ok> BadIndex::lower(Lowering& l) const {
  kernel::BadIndex c;
  QC_ASSIGN(c.count, l.param(count(l.in_dims(0))));
  c.depth = static_cast<int32_t>(sizes.size());
  c.number = static_cast<int32_t>(number);
  for (size_t i = 0; i < sizes.size(); ++i) {
    QC_ASSIGN(c.sizes[i], l.param(sizes[i]));
  }
  c.index = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.before = l.optional(1);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

/// Nothing is known of padding: it counts as index 0.
Result<Ok> BadIndex::pad(PaddedNode& c) {
  for (int64_t axis = 0; axis < std::ssize(c.shape(0)); ++axis) {
    if (c.is_padded(0, axis)) QC_TRY(c.fill(0, axis, Fill::zero));
  }
  c.set_result({AxisSegments{}});
  return Ok{};
}

void register_bad_index(Registration& r) { r.op<BadIndex>(); }

}  // namespace qc
