#include "program/bind.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/guard_text.h"
#include "ir/solve.h"
#include "support/counted.h"

namespace qc {
namespace {

/// Replaces everything in a program that is a size.
template <class Replace>
class SizeBinder {
 public:
  explicit SizeBinder(const Replace& replace) : replace_(replace) {}

  void bind(Dim& size) const {
    if (!size.is_static()) size = replace_(size);
  }
  void bind(Program& program) const {
    for (Buffer& b : program.buffers) {
      bind(b.bytes);
      bind(b.alias_offset);
      bind(b.offset);
    }
    for (auto* ports : {&program.inputs, &program.outputs, &program.states}) {
      for (Port& port : *ports) bind(port.type.shape);
    }
    for (Scalar& s : program.scalars) bind(s.source);
    bind(program.steps);
  }
  void bind(Dims& list) const {
    for (Dim& size : list) bind(size);
  }
  void bind(View& view) const {
    bind(view.offset);
    bind(view.dims);
    bind(view.strides);
  }
  void bind(std::vector<View>& views) const {
    for (View& view : views) bind(view);
  }
  void bind(std::vector<Param>& params) const {
    for (Param& p : params) {
      if (Dim* size = std::get_if<Dim>(&p)) bind(*size);
    }
  }
  void bind(Call& call) const {
    bind(call.params);
    bind(call.in);
    bind(call.out);
    for (Stage& stage : call.epilogue) {
      bind(stage.params);
      bind(stage.in);
    }
  }
  void bind(BranchStep& step) const {
    bind(step.condition);
    bind(step.body);
    bind(step.otherwise);
  }
  void bind(LoopStep& step) const {
    bind(step.condition);
    bind(step.limit);
    bind(step.counter);
    bind(step.body);
  }
  void bind(ParallelStep& step) const {
    bind(step.call);
    bind(step.units);
  }
  void bind(CopyStep& step) const {
    bind(step.from);
    bind(step.to);
  }
  void bind(Steps& steps) const {
    for (Step& step : steps) std::visit([&](auto& own) { bind(own); }, step.op);
  }

 private:
  const Replace& replace_;
};

}  // namespace

Result<Bindings> sizes_of(const Program& program, const std::vector<std::vector<int64_t>>& shapes) {
  if (shapes.size() != program.inputs.size()) {
    return error(Code::input, "the program takes {}, got {}",
                 counted(program.inputs.size(), "input"), shapes.size());
  }
  Bindings out;
  std::vector<std::pair<Dim, int64_t>> axes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Dims& wanted = program.inputs[i].type.shape;
    for (size_t d = 0; d < wanted.size() && d < shapes[i].size(); ++d) {
      axes.emplace_back(wanted[d], shapes[i][d]);
      const bool named = std::ranges::any_of(
          program.dims, [&](const FreeDim& f) { return wanted[d] == Dim::symbol(f.name); });
      if (named) out.emplace(wanted[d].str(), shapes[i][d]);
    }
  }
  solve_axes(axes, out);
  for (size_t i = 0; i < shapes.size(); ++i) {
    Dims expected = program.inputs[i].type.shape;
    for (Dim& d : expected) d = d.substitute(out);
    if (expected != to_dims(shapes[i])) {
      return error(Code::input, "input '{}' has shape {}, got {}", program.inputs[i].name,
                   str(program.inputs[i].type.shape), str(to_dims(shapes[i])));
    }
  }
  QC_TRY(check_sizes(program, out));
  return out;
}

Result<Ok> check_sizes(const Program& program, const Bindings& sizes) {
  for (const FreeDim& d : program.dims) {
    const auto found = sizes.find(d.name);
    if (found == sizes.end())
      return error(Code::dim, "the inputs do not say how large '{}' is", d.name);
    const int64_t size = found->second;
    if (size >= d.min && size <= d.max && (size - d.min) % d.step == 0) continue;
    return error(Code::dim, "dimension '{}' is {}, the program takes {} to {}{}", d.name, size,
                 d.min, d.max, d.step > 1 ? fmt::format(" in steps of {}", d.step) : "");
  }
  for (const DimGuard& guard : program.guards) {
    if (guard.substitute(sizes).holds().value_or(true)) continue;
    return error(Code::dim, "{}", broken(guard, sizes));
  }
  return Ok{};
}

Program bound(const Program& program, const Bindings& sizes) {
  if (program.dims.empty()) return program;
  const Bindings all = program.with_arena_symbols(sizes);
  const auto number = [&](const Dim& size) { return size.substitute(all); };
  Program out = program;
  out.dims.clear();
  out.guards.clear();
  out.arena_symbols.clear();
  SizeBinder(number).bind(out);
  return out;
}

void simplify_sizes(Program& program) {
  if (program.dims.empty()) return;
  const SymbolBounds symbols = program.symbol_bounds();
  const auto simpler = [&](const Dim& size) { return size.within(symbols); };
  SizeBinder(simpler).bind(program);
}

}  // namespace qc
