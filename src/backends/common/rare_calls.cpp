#include "backends/common/rare_calls.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/checked.h"

namespace qc {
namespace {

/// The cost of a call in multiply-accumulates. Moving an element counts as 16 of them, which a
/// vector does at once.
int64_t work_of(const Program& program, const Call& call) {
  constexpr int64_t kPerElement = 16;
  int64_t out = call.macs;
  for (const auto* views : {&call.in, &call.out}) {
    for (const View& v : *views) {
      if (!v.present()) continue;
      const BufferKind kind = program.buffer(program.owner(v.buffer)).kind;
      if (kind == BufferKind::constant) continue;
      int64_t elements = kPerElement;
      for (const Dim& d : v.dims) elements = saturating_mul(elements, program.largest(d));
      out = saturating_add(out, elements);
    }
  }
  return out;
}

}  // namespace

std::set<const Call*> rare_calls(const Program& program, bool by_body) {
  std::map<std::string, int64_t> most;  // by body, what counts for all its calls
  std::vector<std::pair<int64_t, const Call*>> calls;
  int64_t total = 0;
  std::set<const Call*> outer;
  for (const Step& step : program.steps) {
    if (const Call* c = step.call()) {
      outer.insert(c);
      calls.emplace_back(work_of(program, *c), c);
      total = saturating_add(total, calls.back().first);
    }
  }
  for_each_step(program.steps, [&](const Step& step) {
    const Call* c = step.call();
    if (c && !outer.contains(c)) most[c->body->symbol] = INT64_MAX;
  });
  for (const auto& [work, c] : calls) {
    int64_t& m = most[c->body->symbol];
    if (by_body) m = std::max(m, work);
  }
  for (auto& [work, c] : calls) work = std::max(work, most.at(c->body->symbol));
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<const Call*> out;
  int64_t left = total / 1000;
  for (size_t i = 0; i < calls.size();) {
    // Calls with as much work as each other are taken together: they may share a function.
    size_t end = i;
    for (; end < calls.size() && calls[end].first == calls[i].first; ++end) {
      left = calls[end].first > left ? -1 : left - calls[end].first;
      if (left < 0) return out;
    }
    for (; i < end; ++i) out.insert(calls[i].second);
  }
  return out;
}

}  // namespace qc
