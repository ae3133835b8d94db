#include "ops/common/range.h"

#include <algorithm>
#include <set>

#include "ops/common/strided.h"

namespace qc {
namespace {

constexpr int64_t kFar = int64_t{1} << 31;  // models write an open end as a number beyond this

}  // namespace

bool at_least(const Graph& graph, const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_static()) return difference.value() >= 0;
  // Sound for sums of symbols only: functions and products of symbols are left undecided.
  const std::string text = difference.str();
  std::set<std::string> symbols;
  difference.collect_symbols(symbols);
  if (text.find('(') != text.npos || symbols.size() > 8) return false;
  Bindings lowest;
  for (const std::string& symbol : symbols) lowest[symbol] = 0;
  const int64_t base = difference.substitute(lowest).value();
  Bindings corner = lowest;
  for (const std::string& symbol : symbols) {
    int64_t low = 1;
    int64_t high = kFar;
    if (auto it = graph.dim_ranges.find(symbol); it != graph.dim_ranges.end()) {
      low = std::clamp<int64_t>(it->second.min, 1, kFar);
      high = std::clamp<int64_t>(it->second.max, low, kFar);
    }
    Bindings unit = lowest;
    unit[symbol] = 1;
    const int64_t slope = difference.substitute(unit).value() - base;
    unit[symbol] = 2;
    if (difference.substitute(unit).value() - base != 2 * slope) return false;
    if (slope == 0 || (slope < 0 && high == kFar)) return false;
    corner[symbol] = slope > 0 ? low : high;
  }
  return difference.substitute(corner).value() >= 0;
}

Result<Range> resolve_range(const Import& m, const Dim& extent, std::optional<Dim> start,
                            std::optional<Dim> end, int64_t step) {
  if (step == 0 || step == INT64_MIN) return m.fail(Code::attribute, "a slice has step {}", step);
  if (extent == Dim(0)) return Range{Dim(0), Dim(0), Dim(step)};
  const Graph& g = m.graph();
  const Dim low(step > 0 ? 0 : -1), high = step > 0 ? extent : extent - Dim(1);
  auto bound = [&](const std::optional<Dim>& given, const Dim& fallback, const Dim& least) -> Dim {
    if (!given) return fallback;
    Dim at = *given;
    if (at.is_static() && at.value() >= kFar) return high;
    if (at.is_static() && at.value() <= -kFar) return least;
    const bool negative = at.is_static() ? at.value() < 0 : at_least(g, Dim(-1), at);
    if (negative) at = at + extent;
    if (!given->is_static()) return at;
    if (!at_least(g, at, least)) at = max(at, least);
    if (at_least(g, at, high)) return high;
    return at_least(g, high, at) ? at : min(at, high);
  };
  const Dim first = bound(start, step > 0 ? Dim(0) : high, Dim(0));
  const Dim last = bound(end, step > 0 ? extent : Dim(-1), low);
  Dim size = step > 0 ? ceildiv(last - first, Dim(step)) : ceildiv(first - last, Dim(-step));
  if (size.is_static() && size.value() < 0) size = Dim(0);
  return Range{size == Dim(0) ? Dim(0) : first, size, Dim(step)};
}

Result<Range> resolve_index(const Import& m, const Dim& extent, const Dim& index) {
  Dim at = index;
  if (at.is_static() ? at.value() < 0 : at_least(m.graph(), Dim(-1), at)) at = at + extent;
  if (at.is_static() && (at.value() < 0 || (extent.is_static() && at.value() >= extent.value()))) {
    return m.fail(Code::attribute, "index {} is outside an axis of size {}", index.str(),
                  extent.str());
  }
  return Range{at, Dim(1), Dim(1)};
}

Result<Value*> take(const Import& m, Value* x, const std::vector<Range>& ranges) {
  Dims start, size, step;
  for (const Range& r : ranges) {
    start.push_back(r.start);
    size.push_back(r.size);
    step.push_back(r.step);
  }
  const bool forward =
      std::all_of(step.begin(), step.end(), [](const Dim& d) { return d == Dim(1); });
  if (forward && size == x->shape()) return x;
  return m.emit("slice", {x}, {{"start", start}, {"size", size}, {"step", step}});
}

Result<Value*> take(const Import& m, Value* x, int64_t axis, const Range& range) {
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  std::vector<Range> ranges;
  for (const Dim& d : x->shape()) ranges.push_back({Dim(0), d, Dim(1)});
  ranges[static_cast<size_t>(axis)] = range;
  return take(m, x, ranges);
}

Result<Value*> reshaped(const Import& m, Value* x, const Dims& shape) {
  if (shape == x->shape()) return x;
  return m.emit("reshape", {x}, {{"shape", shape}});
}

Result<Ok> check_box(const Dims& shape, const Dims& start, const Dims& size, const Dims& step,
                     const Loc& loc) {
  if (start.size() != shape.size() || size.size() != shape.size() || step.size() != shape.size()) {
    return error(Code::attribute, loc, "start, size and step must have one entry per axis of {}",
                 str(shape));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (leaves(shape[i], {size[i]}, {step[i]}, start[i])) {
      return error(Code::shape, loc, "{} elements from {} by {} are not inside axis {} of {}",
                   size[i].str(), start[i].str(), step[i].str(), i, str(shape));
    }
  }
  return Ok{};
}

}  // namespace qc
