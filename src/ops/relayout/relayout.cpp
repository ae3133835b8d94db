#include "ops/common/registration.h"
#include "ops/common/strided.h"

namespace qc {

/// The operand with its bytes in another order: the same value, so evaluation copies it as it is.
class Relayout final : public ViewNode<Relayout> {
 public:
  static const OpInfo kInfo;
  std::string to = "nhwc";  // or "row_major"

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("to", to); }
  Result<std::vector<Type>> infer() const override {
    if (to != "nhwc" && to != "row_major") {
      return error(Code::attribute, loc(), "layout '{}' is neither 'nhwc' nor 'row_major'", to);
    }
    Type y = input_type(0);
    y.layout = target();
    if (y.layout == Layout::channels_last && y.rank() < 3) {
      return error(Code::shape, loc(), "channels-last needs rank 3 or more, got {}", str(y.shape));
    }
    return std::vector<Type>{y};
  }
  bool is_identity() const override { return input_type(0).layout == target(); }
  Strided view(const Dims& x, const Dims& y) const { return {output()->shape(), x, y}; }

 private:
  Layout target() const { return to == "nhwc" ? Layout::channels_last : Layout::row_major; }
};

const OpInfo Relayout::kInfo = {
    .name = "relayout",
    .traits = kMovesElements | kAnyLayout | kChangesLayout,
    .summary = "the same value with its bytes in another order",
};

void register_relayout(Registration& r) { r.op<Relayout>(); }

}  // namespace qc
