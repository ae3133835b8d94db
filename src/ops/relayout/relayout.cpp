#include "ir/op_table.h"
#include "ir/writes_layout.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"

namespace qc {

/// The operand with its bytes in another order: the same value, so evaluation copies it as it is.
class Relayout final : public ViewNode<Relayout>, public IsRelayout {
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
  Result<std::unique_ptr<Node>> with_channels_at_the_end() const override {
    Ints perm{0};
    for (int64_t i = 2; i < input_type(0).rank(); ++i) perm.push_back(i);
    perm.push_back(1);
    std::unique_ptr<Node> made = op_table().find("transpose")->create();
    QC_TRY(set_attrs(*made, {{"perm", std::move(perm)}}, loc()));
    return made;
  }
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
