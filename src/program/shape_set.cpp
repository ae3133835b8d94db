#include "program/shape_set.h"

#include <algorithm>

namespace qc {
namespace {

constexpr size_t kMaxSpecialisations = 16;

bool same(const View& a, const View& b) { return a.buffer == b.buffer; }

bool same(const std::vector<View>& a, const std::vector<View>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const View& x, const View& y) { return same(x, y); });
}

bool same(const Buffer& a, const Buffer& b) {
  return a.kind == b.kind && a.align == b.align && a.alias_of == b.alias_of &&
         a.constant == b.constant && a.slot == b.slot;
}

bool same(const Call& a, const Call& b) {
  return a.kernel == b.kernel && a.select == b.select && a.body == b.body && same(a.in, b.in) &&
         same(a.out, b.out) && a.in_place == b.in_place;
}

bool same(const Steps& a, const Steps& b);

bool same(const BranchStep& a, const BranchStep& b) {
  return same(a.condition, b.condition) && same(a.body, b.body) && same(a.otherwise, b.otherwise);
}
bool same(const LoopStep& a, const LoopStep& b) {
  return same(a.condition, b.condition) && same(a.limit, b.limit) && same(a.counter, b.counter) &&
         same(a.body, b.body);
}
bool same(const ParallelStep& a, const ParallelStep& b) { return same(a.call, b.call); }
bool same(const CopyStep& a, const CopyStep& b) { return same(a.from, b.from) && same(a.to, b.to); }

bool same(const Steps& a, const Steps& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Step& x, const Step& y) {
    return x.op.index() == y.op.index() &&
           std::visit(
               [&](const auto& own) {
                 return same(own, std::get<std::decay_t<decltype(own)>>(y.op));
               },
               x.op);
  });
}

}  // namespace

bool same_structure(const Program& a, const Program& b) {
  return std::equal(a.buffers.begin(), a.buffers.end(), b.buffers.begin(), b.buffers.end(),
                    [](const Buffer& x, const Buffer& y) { return same(x, y); }) &&
         same(a.steps, b.steps);
}

ShapeSet ShapeSet::of(Program program) {
  ShapeSet set;
  set.sizes = {0};
  set.specialisations = {0};
  set.programs.push_back(std::move(program));
  return set;
}

Result<Ok> ShapeSet::plan(const PlanOptions& options) {
  specialisations.clear();
  for (size_t i = 0; i < programs.size(); ++i) {
    if (i == 0 || !same_structure(programs[i - 1], programs[i])) specialisations.push_back(i);
  }
  if (specialisations.size() > kMaxSpecialisations) {
    return error(Code::unsupported,
                 "the steps of the model differ in {} places between {} = {} and {}, more than {}: "
                 "take a smaller range, or a number",
                 specialisations.size() - 1, symbol, min, max, kMaxSpecialisations);
  }
  int64_t arena = 0;
  for (size_t i = 0; i < specialisations.size(); ++i) {
    qc::plan(std::span(programs).subspan(specialisations[i], end(i) - specialisations[i]), options);
    arena = std::max(arena, programs[specialisations[i]].arena_bytes);
  }
  for (Program& program : programs) program.arena_bytes = arena;
  return Ok{};
}

std::span<const Program> ShapeSet::specialisation(size_t i) const {
  return std::span(programs).subspan(specialisations[i], end(i) - specialisations[i]);
}

std::span<const int64_t> ShapeSet::specialisation_sizes(size_t i) const {
  return std::span(sizes).subspan(specialisations[i], end(i) - specialisations[i]);
}

const Program* ShapeSet::find(const std::vector<std::vector<int64_t>>& shapes) const {
  for (const Program& program : programs) {
    bool fits = program.inputs.size() == shapes.size();
    for (size_t i = 0; fits && i < shapes.size(); ++i)
      fits = program.inputs[i].type.shape == to_dims(shapes[i]);
    if (fits) return &program;
  }
  return nullptr;
}

}  // namespace qc
