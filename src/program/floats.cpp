#include "program/floats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/epilogue/calls.h"

namespace qc {
namespace {

bool is_float_view(const View& v) { return v.present() && is_float(v.dtype); }

/// Whether the call adds a residual that is not rescaled by integers.
bool adds_in_float(const Call& call) {
  const Group* add = call.kernel->group("qk_add_stage");
  return add && call.operand("residual").present() && call.integer(add->name + ".kind") != QK_R_Q31;
}

/// The value of a selector, or the number, by which calls say that they rescale by integers.
constexpr std::string_view kIntegers = "q31";

/// A number's own name, without the structs that it is in.
std::string_view own_name(const Field& field) {
  return std::string_view(field.name).substr(field.name.rfind('.') + 1);
}

const Field* integers_of(const Signature& kernel) {
  const auto it = std::ranges::find(kernel.fields, kIntegers, own_name);
  return it == kernel.fields.end() ? nullptr : &*it;
}

/// Whether the call says that it rescales by integers.
bool rescales_by_integers(const Call& call) {
  if (adds_in_float(call)) return false;
  if (std::ranges::find(call.select, kIntegers) != call.select.end()) return true;
  const Field* field = integers_of(*call.kernel);
  return field && call.integer(field->name) != 0;
}

/// Whether the kernel has a form that rescales by integers, with the other selectors as they are.
bool could_rescale_by_integers(const Call& call) {
  if (integers_of(*call.kernel)) return true;
  for (size_t i = 0; i < call.select.size(); ++i) {
    std::vector<std::string> other = call.select;
    other[i] = kIntegers;
    if (find_body(*call.kernel, other)) return true;
  }
  return false;
}

/// Names of the operands, results and parameters that are floats.
std::vector<std::string> floats_of(const Call& call) {
  std::vector<std::string> out;
  for (size_t i = 0; i < call.in.size(); ++i) {
    if (is_float_view(call.in[i])) out.push_back(call.kernel->in[i].name);
  }
  for (size_t i = 0; i < call.out.size(); ++i) {
    if (is_float_view(call.out[i])) out.push_back(call.kernel->out[i].name);
  }
  if (rescales_by_integers(call)) return out;
  for (const Field& field : call.kernel->fields) {
    const Param* first = &call.params[field.at];
    const bool used = std::any_of(first, first + field.count, [](const Param& p) {
      return std::holds_alternative<float>(p) && std::get<float>(p) != 0.0f;
    });
    if (used) out.emplace_back(own_name(field));
  }
  return out;
}

}  // namespace

std::string why_floats(const Call& call) {
  const std::vector<std::string> floats = floats_of(call);
  if (floats.empty()) return {};
  const bool reads = !call.in.empty() && is_float_view(call.in[0]);
  const bool writes = !call.out.empty() && is_float_view(call.out[0]);
  if (reads || writes)
    return reads && writes ? "reads and writes floats" : reads ? "reads floats" : "writes floats";
  if (adds_in_float(call)) return "adds its second operand in float";
  const std::string names = fmt::format("{}", fmt::join(floats, ", "));
  if (could_rescale_by_integers(call)) return fmt::format("rescales in float ({})", names);
  return fmt::format("computes in float between the codes it reads and writes ({})", names);
}

bool rescales_in_float(const Program& program) {
  bool found = false;
  for_each_step(program.steps, [&](const Step& s) {
    const Call* call = s.call();
    found = found || (call && could_rescale_by_integers(*call) && !rescales_by_integers(*call) &&
                      !floats_of(*call).empty());
  });
  return found;
}

std::vector<std::string> float_steps(const Program& program) {
  std::vector<std::string> out;
  for_each_step(program.steps, [&](const Step& s) {
    const Call* call = s.call();
    const std::string why = call ? why_floats(*call) : "";
    if (why.empty()) return;
    out.push_back(fmt::format("{}: {} {}", fmt::join(s.loc.names, "+"), call->kernel->name, why));
  });
  return out;
}

}  // namespace qc
