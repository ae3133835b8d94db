#include "driver/step_times.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace qc {

using Clock = std::chrono::steady_clock;

namespace {

int64_t bytes_of(const View& view) {
  const Dim size = view.present() ? extent(view) : Dim(0);
  return size.is_static() ? size.value() : 0;
}

/// Kernels (by their folder) that touch of one array at most as many bytes as another one has: rows
/// of a table that are gathered, the place in a cache that is stored to.
struct Partial {
  std::string_view folder;
  bool reads_part;  // of the first operand, as much as the first result has; else the reverse
};
constexpr Partial kPartial[] = {{"gather", true}, {"store_slice", false}};

}  // namespace

int64_t bytes_of(const Call& call) {
  int64_t out = 0;
  for (const auto* views : {&call.in, &call.out}) {
    for (const View& v : *views) out += bytes_of(v);
  }
  for (const Partial& partial : kPartial) {
    if (call.kernel->folder != partial.folder || call.in.empty() || call.out.empty()) continue;
    const int64_t x = bytes_of(call.in[0]), y = bytes_of(call.out[0]);
    out -= partial.reads_part ? std::max<int64_t>(x - y, 0) : std::max<int64_t>(y - x, 0);
  }
  return out;
}

StepTime step_time(const Step& step, const Body* body, double seconds) {
  const Call& call = *step.call();
  return {step.loc.names,
          std::string(call.kernel->name),
          body ? body->symbol : "",
          call.macs,
          bytes_of(call),
          seconds,
          !call.in.empty() && !is_float(call.in.front().dtype)};
}

Result<std::vector<StepTime>> step_times(const InProcess& model, const std::vector<Tensor>& inputs,
                                         int runs) {
  std::vector<StepTime> out;
  std::map<const Step*, size_t> at;
  std::vector<double> spent;
  Clock::time_point before;
  ProgramOptions how;
  how.observe = [&](const Step& step, const auto&) {
    const Clock::time_point now = Clock::now();
    const auto [found, added] = at.emplace(&step, out.size());
    if (added) {
      const Call& call = *step.call();
      const Body* body = call.body ? call.body : find_body(*call.kernel, call.select);
      if (body) body = fast_body(*body);
      out.push_back(step_time(step, body, 0));
      spent.push_back(0);
    }
    spent[found->second] += std::chrono::duration<double>(now - before).count();
    before = Clock::now();  // what is done here is not counted
  };
  for (int run = 0; run < runs; ++run) {
    std::fill(spent.begin(), spent.end(), 0);
    before = Clock::now();
    QC_TRY(model.run(inputs, how));
    for (size_t i = 0; i < out.size(); ++i)
      out[i].seconds = run == 0 ? spent[i] : std::min(out[i].seconds, spent[i]);
  }
  return out;
}

}  // namespace qc
