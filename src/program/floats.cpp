#include "program/floats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/qgemm/output.h"

namespace qc {
namespace {

bool is_float_view(const View& v) { return v.present() && is_float(v.dtype); }

/// Whether the call adds a residual that is not rescaled by integers.
bool adds_in_float(const Call& call) {
  return call.kernel->field("r_kind") && call.operand("residual").present() &&
         call.integer("r_kind") != QK_R_Q31;
}

/// Whether the call says that it rescales by integers: a selector's value, or a parameter.
bool rescales_by_integers(const Call& call) {
  if (adds_in_float(call)) return false;
  if (std::find(call.select.begin(), call.select.end(), "q31") != call.select.end()) return true;
  return call.kernel->field("q31") && call.integer("q31") != 0;
}

}  // namespace

bool needs_floats(const Call& call) {
  if (std::any_of(call.in.begin(), call.in.end(), is_float_view)) return true;
  if (std::any_of(call.out.begin(), call.out.end(), is_float_view)) return true;
  if (rescales_by_integers(call)) return false;
  return std::any_of(call.params.begin(), call.params.end(), [](const Param& p) {
    return std::holds_alternative<float>(p) && std::get<float>(p) != 0.0f;
  });
}

std::vector<std::string> float_steps(const Program& program) {
  std::vector<std::string> out;
  for_each_step(program.steps, [&](const Step& s) {
    const Call* call = s.call();
    if (!call || !needs_floats(*call)) return;
    out.push_back(fmt::format("{}: {}", fmt::join(s.loc.names, "+"), call->kernel->name));
  });
  return out;
}

}  // namespace qc
