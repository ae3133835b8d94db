#include "backends/cuda/source.h"

#include <fmt/format.h>

#include "support/escape.h"

namespace qc::cuda {
namespace {

/// Whether a unit is the work of a block of threads, not of one.
bool by_blocks(const Call& call) { return call.body->machine != "cuda"; }

}  // namespace

/// A kernel with parameters of its own has a function that gives them, to it and to the host.
std::string Source::definition(const Instance& instance) const {
  QC_CHECK(!instance.varies, "code for target cuda has no free dimensions");
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string declared = "int64_t units", passed, out;
  if (!instance.local) declared += fmt::format(", const {} p", kernel.params);
  auto add = [&](const char* type, const std::vector<OperandSpec>& names,
                 const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].present()) declared += fmt::format(", {} *{}", type, names[i].name);
      passed += views[i].present() ? ", " + names[i].name : std::string(", NULL");
    }
  };
  add("const void", kernel.in, call.in);
  add("void", kernel.out, call.out);
  if (instance.local) {
    out = fmt::format(
        "QK_BOTH {0} params_of_{1}(void) {{\n  const {0} p = {{{2}}};\n  return p;\n}}\n"
        "static int64_t units_of_{1}(void) {{\n  const {0} p = params_of_{1}();\n"
        "  return {3}_units(&p);\n}}\n",
        kernel.params, instance.function, instance.values, call.body->symbol);
    if (by_blocks(call)) {
      out += fmt::format(
          "static int32_t shared_of_{1}(void) {{\n  const {0} p = params_of_{1}();\n"
          "  return {2}_shared(&p);\n}}\n",
          kernel.params, instance.function, call.body->symbol);
    }
  }
  out += fmt::format("QK_GLOBAL {}({}) {{\n", instance.function, declared);
  if (instance.local)
    out += fmt::format("  const {} p = params_of_{}();\n", kernel.params, instance.function);
  return out + fmt::format("  {}(units) {}(&p, unit{});\n}}\n\n",
                           by_blocks(call) ? "QK_FOR_BLOCK" : "QK_FOR_UNIT", call.body->symbol,
                           passed);
}

std::string Source::part_definition(const Instance& instance) {
  QC_CHECK(!instance.varies, "code for target cuda has no free dimensions");
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string declared = "int64_t units", passed, in, out;
  if (!instance.local) declared += fmt::format(", const {} given", kernel.params);
  auto add = [&](const char* type, const char* list, const std::vector<OperandSpec>& names,
                 const std::vector<View>& views, std::string& held) {
    for (size_t i = 0; i < views.size(); ++i) {
      // Absent ones have no name: the compiler knows that they are null.
      const bool present = views[i].present();
      declared += fmt::format(", {} *{}", type, present ? names[i].name : "");
      held += (i ? ", " : "") + (present ? names[i].name : std::string("NULL"));
      passed += fmt::format(", qk_pointer{{{}[{}]}}", list, i);
    }
  };
  add("const void", "in", kernel.in, call.in, in);
  add("void", "out", kernel.out, call.out, out);
  return fmt::format(
      "QK_GLOBAL {0}({1}) {{\n"
      "  QK_FOR_UNIT(units) {{\n"
      "    {2} p = {3};\n"
      "    const void *in[] = {{{4}}};\n"
      "    void *out[] = {{{5}}};\n"
      "    int32_t own[4] = {{(int32_t)unit, (int32_t)unit + 1, 0, 0}};\n"
      "    {6};\n"
      "    {7}(&p{8});\n  }}\n}}\n\n",
      instance.function, declared, kernel.params,
      instance.local ? "{" + instance.values + "}" : std::string("given"), in.empty() ? "NULL" : in,
      out,
      call.body->split.empty() ? "(void)own"
                               : fmt::format("{}_part(&p, in, out, own)", call.body->split),
      call.body->symbol, passed);
}

std::string Source::parallel(const Step& step, const Instance& instance, const std::string& params,
                             const std::string& in, const std::string& out,
                             const std::string& units, const std::string& pad) const {
  std::string args = params;
  for (const std::string& list : {in, out}) {
    if (!list.empty()) args += (args.empty() ? "" : ", ") + list;
  }
  return fmt::format("{}QC_TRY(qk_launch(queue, {}, {}, {}), \"launch\", \"{}\", {});\n", pad,
                     instance.function, units, args, instance.call.body->symbol,
                     c_string(layers(step)));
}

std::string Source::invocation(const Step& step, const Instance& instance,
                               const std::string& params, const std::string& args) const {
  const std::string& symbol = instance.call.body->symbol;
  const std::string units = instance.local
                                ? fmt::format("units_of_{}()", instance.function)
                                : fmt::format("{}_units(&{}), {}", symbol, params, params);
  const std::string shared = !by_blocks(instance.call) ? ""
                             : instance.local ? fmt::format("shared_of_{}(), ", instance.function)
                                              : fmt::format("{}_shared(&{}), ", symbol, params);
  return fmt::format("QC_TRY({}(queue, {}, {}{}, {}), \"launch\", \"{}\", {})",
                     by_blocks(instance.call) ? "qk_launch_blocks" : "qk_launch", instance.function,
                     shared, units, args, symbol, c_string(layers(step)));
}

std::string Source::copy(const Step& step, const std::string& from, const std::string& to,
                         int64_t bytes, bool to_device) {
  (to_device ? uploads : downloads) += fmt::format(
      "  QC_TRY(cudaMemcpyAsync({}, {}, {}, kind, stream), \"cudaMemcpyAsync\", \"\", {});\n", to,
      from, bytes, c_string(layers(step)));
  return "";
}

}  // namespace qc::cuda
