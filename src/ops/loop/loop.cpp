#include "ops/loop/loop.h"

#include <cstring>

#include "interp/eval.h"
#include "kernels/store_slice/calls.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {
namespace {

/// A constant bool that is true.
bool always_true(const Value* v) {
  if (!v->is_constant() || v->dtype() != DType::boolean) return false;
  auto t = v->graph()->pool().get(v->constant());
  return t.ok() && t->size() == 1 && t->data<uint8_t>()[0] != 0;
}

bool one_element(const Type& type, DType dtype) {
  return type.dtype == dtype && product(type.shape) == Dim(1);
}

}  // namespace

const OpInfo Loop::kInfo = {
    .name = "loop",
    .min_inputs = 0,
    .max_inputs = -1,
    .outputs = -1,
    .traits = kHasRegions,
    .summary = "repeats a region, carrying values from trip to trip and stacking others",
};

bool Loop::counted() const {
  if (input(1) && !always_true(input(1))) return false;
  const Value* next = region(0)->outputs()[0].value;
  return next == region(0)->inputs()[1] || always_true(next);
}

Result<std::vector<Type>> Loop::infer() const {
  if (regions().size() != 1) return error(Code::graph, loc(), "needs one region");
  const Graph& body = *region(0);
  if (carried < 0 || carried > static_cast<int64_t>(body.outputs().size()) - 1) {
    return error(Code::attribute, loc(), "carries {} values, but its body gives {}", carried,
                 body.outputs().size());
  }
  const size_t operands = std::max<size_t>(input_count(), 2);
  if (body.inputs().size() != operands || operands < carried_count() + 2) {
    return error(Code::graph, loc(), "the body takes {} values, got {}", body.inputs().size(),
                 operands);
  }
  if (input(0) && !one_element(input_type(0), DType::i64)) {
    return error(Code::type, loc(), "the trip limit must be one i64, got {}", str(input_type(0)));
  }
  if (input(1) && !one_element(input_type(1), DType::boolean)) {
    return error(Code::type, loc(), "the condition must be one bool, got {}", str(input_type(1)));
  }
  if (!(body.inputs()[0]->type() == Type(DType::i64, {})) ||
      !(body.inputs()[1]->type() == Type(DType::boolean, {})) ||
      !one_element(body.outputs()[0].value->type(), DType::boolean)) {
    return error(Code::type, loc(), "the body must take i64 and bool and give a bool");
  }
  for (size_t i = 2; i < operands; ++i) {
    if (!input(i) || !(input_type(i) == body.inputs()[i]->type())) {
      return error(Code::type, loc(), "operand {} does not have the type the body takes", i);
    }
  }
  if (counted() && !input(0)) return error(Code::graph, loc(), "the loop never ends");

  std::vector<Type> types;
  for (size_t i = 0; i < carried_count(); ++i) {
    const Type& before = body.inputs()[i + 2]->type();
    const Type& after = body.outputs()[i + 1].value->type();
    if (!(before == after)) {
      return error(Code::unsupported, loc(), "carried value {} changes from {} to {}", i,
                   str(before), str(after));
    }
    types.push_back(after);
  }
  if (stack_count() == 0) return types;
  const auto limit = input(0) && counted() ? known_ints(input(0)) : std::nullopt;
  if (!limit) {
    return error(Code::unsupported, loc(),
                 "stacks values over a number of trips that is only known at run time");
  }
  const Dim trips =
      (*limit)[0].is_static() ? Dim(std::max<int64_t>((*limit)[0].value(), 0)) : (*limit)[0];
  for (size_t i = carried_count() + 1; i < body.outputs().size(); ++i) {
    Type type = body.outputs()[i].value->type();
    type.shape.insert(type.shape.begin(), trips);
    types.push_back(std::move(type));
  }
  return types;
}

Result<Ok> Loop::eval(EvalContext& c) const {
  const int64_t limit = c.has(0) ? c.in(0).as_int(0) : std::numeric_limits<int64_t>::max();
  bool condition = !c.has(1) || c.in(1).as_int(0) != 0;
  std::vector<Tensor> inputs(2);
  for (size_t i = 2; i < c.input_count(); ++i) inputs.push_back(c.in(i));
  for (int64_t trip = 0; trip < limit && condition; ++trip) {
    inputs[0] = Tensor(DType::i64, {});
    inputs[0].set_int(0, trip);
    inputs[1] = Tensor(DType::boolean, {});
    inputs[1].set_int(0, 1);
    QC_ASSIGN(auto results, c.run(*region(0), inputs));
    condition = results[0].as_int(0) != 0;
    for (size_t i = 0; i < carried_count(); ++i) inputs[i + 2] = std::move(results[i + 1]);
    for (size_t i = 0; i < stack_count(); ++i) {
      const auto slice = results[1 + carried_count() + i].bytes();
      auto stack = c.out(carried_count() + i).mutable_bytes();
      if (!slice.empty()) {
        std::memcpy(&stack[static_cast<size_t>(trip) * slice.size()], slice.data(), slice.size());
      }
    }
  }
  for (size_t i = 0; i < carried_count(); ++i) c.set_out(i, std::move(inputs[i + 2]));
  return Ok{};
}

Result<Ok> Loop::lower(Lowering& l) const {
  LoopStep step;
  step.counter = l.scratch(DType::i64, {1}, "trip");
  if (l.has(0)) step.limit = l.in(0);
  const bool conditional = !counted();
  Tensor yes(DType::boolean, {});
  yes.set_int(0, 1);
  const View always = l.constant(yes, "true");
  if (conditional) {
    step.condition = l.scratch(DType::boolean, {1}, "condition");
    l.copy(l.has(1) ? l.in(1) : always, step.condition, 1);
  }
  // Carried values live in the buffers of the outputs.
  std::vector<View> inputs = {step.counter, always};
  for (size_t i = 0; i < carried_count(); ++i) {
    l.copy(l.in(i + 2), l.out(i), extent(l.out(i)));
    inputs.push_back(l.out(i));
  }
  for (size_t i = carried_count() + 2; i < input_count(); ++i) inputs.push_back(l.in(i));
  QC_ASSIGN(auto results, l.region(*region(0), inputs, step.body));

  Dims sizes;
  for (const View& result : results) sizes.push_back(extent(result));
  l.into(step.body, [&] {
    for (size_t at = 1 + carried_count(); at < results.size(); ++at) {
      kernel::StoreSlice c;
      c.bytes = sizes[at];
      c.x = results[at];
      c.indices = step.counter;
      c.y = l.out(at - 1);
      l.emit(c);
    }
    // The next value of one may be the present value of another: all are set aside first.
    for (size_t at = 1; carried_count() > 1 && at <= carried_count(); ++at) {
      View next = l.scratch(sizes[at], "next");
      next.dtype = results[at].dtype;
      next.dims = results[at].dims;
      l.copy(results[at], next, sizes[at]);
      results[at] = next;
    }
    for (size_t at = 1; at <= carried_count(); ++at) l.copy(results[at], l.out(at - 1), sizes[at]);
    if (conditional) l.copy(results[0], step.condition, 1);
  });
  l.add(std::move(step));
  return Ok{};
}

void register_loop(Registration& r) { r.op<Loop>(); }

}  // namespace qc
