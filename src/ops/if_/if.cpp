#include "interp/eval.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

/// Region 0 when the condition holds, else region 1. Operand 0 is the condition, the others are the
/// inputs of both regions; the outputs of the regions have equal types.
class If final : public OpNode<If> {
 public:
  static const OpInfo kInfo;
  const OpInfo& info() const override { return kInfo; }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext& c) const override;
  Result<Ok> lower(Lowering& l) const override;
};

const OpInfo If::kInfo = {
    .name = "if",
    .min_inputs = 1,
    .max_inputs = -1,
    .outputs = -1,
    .traits = kHasRegions,
    .summary = "runs one of two regions, chosen by a bool at run time",
};

Result<std::vector<Type>> If::infer() const {
  if (regions().size() != 2) return error(Code::graph, loc(), "needs two regions");
  const Type& condition = input_type(0);
  if (condition.dtype != DType::boolean || !(product(condition.shape) == Dim(1))) {
    return error(Code::type, loc(), "the condition must be one bool, got {}", str(condition));
  }
  for (const auto& region : regions()) {
    if (region->inputs().size() != input_count() - 1) {
      return error(Code::graph, loc(), "a branch takes {} values, got {}", region->inputs().size(),
                   input_count() - 1);
    }
    for (size_t i = 0; i < region->inputs().size(); ++i) {
      if (!input(i + 1) || !(region->inputs()[i]->type() == input_type(i + 1))) {
        return error(Code::type, loc(), "operand {} does not have the type the branches take",
                     i + 1);
      }
    }
  }
  const auto& yes = region(0)->outputs();
  const auto& no = region(1)->outputs();
  if (yes.size() != no.size()) {
    return error(Code::graph, loc(), "the branches give {} and {} values", yes.size(), no.size());
  }
  std::vector<Type> types;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (!(yes[i].value->type() == no[i].value->type())) {
      return error(Code::unsupported, loc(), "output {} is {} in one branch and {} in the other", i,
                   str(yes[i].value->type()), str(no[i].value->type()));
    }
    types.push_back(yes[i].value->type());
  }
  return types;
}

Result<Ok> If::eval(EvalContext& c) const {
  std::vector<Tensor> inputs;
  for (size_t i = 1; i < c.input_count(); ++i) inputs.push_back(c.in(i));
  const bool condition = c.in(0).data<uint8_t>()[0] != 0;
  QC_ASSIGN(auto outputs, c.run(*region(condition ? 0 : 1), std::move(inputs)));
  for (size_t i = 0; i < outputs.size(); ++i) c.set_out(i, std::move(outputs[i]));
  return Ok{};
}

Result<Ok> If::lower(Lowering& l) const {
  std::vector<View> inputs;
  for (size_t i = 1; i < input_count(); ++i) inputs.push_back(l.in(i));
  BranchStep step;
  step.condition = l.in(0);
  for (size_t r = 0; r < 2; ++r) {
    Steps& steps = r == 0 ? step.body : step.otherwise;
    QC_ASSIGN(auto results, l.region(*region(r), inputs, steps));
    for (size_t i = 0; i < results.size(); ++i) {
      l.into(steps, [&] { l.copy(results[i], l.out(i), extent(l.out(i))); });
    }
  }
  l.add(std::move(step));
  return Ok{};
}

void register_if_(Registration& r) { r.op<If>(); }

}  // namespace qc
