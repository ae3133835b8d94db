#include "backends/cuda/source.h"

#include <fmt/format.h>

#include "program/device.h"
#include "program/split.h"
#include "support/escape.h"

namespace qc::cuda {
namespace {

/// Whether a unit is the work of a block of threads, not of one.
bool by_blocks(const Call& call) { return call.body->machine != "cuda"; }

/// A launch needs the parameters of free sizes as a value with an address.
std::string with_params(const Call& call, const std::string& values, const std::string& launch) {
  return fmt::format("{{ const {} p = {{{}}}; {}; }}", call.kernel->params, values, launch);
}

/// The parameters of a function: present operands and results by name; `passed` gets what the body
/// is handed.
std::string operands(const Call& call, std::string declared, std::string& passed) {
  const Signature& kernel = *call.kernel;
  auto add = [&](const char* type, const std::vector<OperandSpec>& names,
                 const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].present())
        declared += fmt::format("{}{} *{}", declared.empty() ? "" : ", ", type, names[i].name);
      // Bodies that the host calls are C, which converts pointers to bytes by itself.
      const std::string given =
          call.body->machine.empty() ? "qk_pointer{" + names[i].name + "}" : names[i].name;
      passed += views[i].present() ? ", " + given : std::string(", NULL");
    }
  };
  add("const void", kernel.in, call.in);
  add("void", kernel.out, call.out);
  return declared;
}

}  // namespace

std::string Source::for_gpus(const std::string& statement) const {
  if (capability_ == 0) return statement;
  return fmt::format("#if QK_ARCH_FROM({})\n{}#endif\n", capability_, statement);
}

/// A kernel with parameters of its own has a function that gives them, to it and to the host.
std::string Source::definition(const Instance& instance) const {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string passed, out;
  if (call.body->machine.empty()) {  // the host computes it
    const std::string declared = operands(call, "", passed);
    return fmt::format("static void {}({}) {{\n  const {} p = {{{}}};\n  {}(&p{});\n}}\n\n",
                       instance.function, declared, kernel.params, instance.values,
                       call.body->symbol, passed);
  }
  const std::string declared = operands(
      call,
      instance.local ? "int64_t units" : fmt::format("int64_t units, const {} p", kernel.params),
      passed);
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
  std::string body;
  if (instance.local)
    body += fmt::format("  const {} p = params_of_{}();\n", kernel.params, instance.function);
  body += fmt::format("  {}(units) {}(&p, unit{});\n",
                      by_blocks(call) ? "QK_FOR_BLOCK" : "QK_FOR_UNIT", call.body->symbol, passed);
  return out + for_gpus(body) + "}\n\n";
}

std::string Source::part_definition(const Instance& instance) {
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
  const std::string part = call.body->split.empty()
                               ? "(void)own"
                               : fmt::format("{}_part(&p, in, out, own)", call.body->split);
  return fmt::format("QK_GLOBAL {}({}) {{\n", instance.function, declared) +
         for_gpus(fmt::format("  QK_FOR_UNIT(units) {{\n"
                              "    {0} p = {1};\n"
                              "    const void *in[] = {{{2}}};\n"
                              "    void *out[] = {{{3}}};\n"
                              "    int32_t own[4] = {{(int32_t)unit, (int32_t)unit + 1, 0, 0}};\n"
                              "    {4};\n"
                              "    {5}(&p{6});\n  }}\n",
                              kernel.params,
                              instance.local ? "{" + instance.values + "}" : std::string("given"),
                              in.empty() ? "NULL" : in, out, part, call.body->symbol, passed)) +
         "}\n\n";
}

std::string Source::counted_units(const Call& call) { return call.body->split + "_units(&p)"; }

std::string Source::parallel(const Step& step, const Instance& instance, const std::string& params,
                             const std::string& in, const std::string& out,
                             const std::string& units, const std::string& pad) const {
  const bool free = !is_static(instance.call);
  std::string args = free ? "p" : params;
  for (const std::string& list : {in, out}) {
    if (!list.empty()) args += (args.empty() ? "" : ", ") + list;
  }
  const std::string launch =
      fmt::format("QK_TRY(qk_launch(queue, {}, {}, {}), \"launch\", \"{}\", {})", instance.function,
                  units, args, instance.call.body->symbol, c_string(layers(step)));
  return pad + (free ? with_params(instance.call, instance.values, launch) : launch + ";") + "\n";
}

std::string Source::invocation(const Step& step, const Instance& instance,
                               const std::string& params, const std::string& args) const {
  const Call& call = instance.call;
  if (is_host_step(program_, step)) return host_call(step, instance, args);
  const bool free = !is_static(call);
  const std::string& symbol = call.body->symbol;
  const std::string given = free ? "p" : params;
  const std::string units = instance.local ? fmt::format("units_of_{}()", instance.function)
                                           : fmt::format("{}_units(&{}), {}", symbol, given, given);
  const std::string shared = !by_blocks(call) ? ""
                             : instance.local ? fmt::format("shared_of_{}(), ", instance.function)
                                              : fmt::format("{}_shared(&{}), ", symbol, given);
  const std::string launch =
      fmt::format("QK_TRY({}(queue, {}, {}{}, {}), \"launch\", \"{}\", {})",
                  by_blocks(call) ? "qk_launch_blocks" : "qk_launch", instance.function, shared,
                  units, args, symbol, c_string(layers(step)));
  return free ? with_params(call, instance.values, launch) : launch;
}

/// The stream calls it when what is before is done.
std::string Source::host_call(const Step& step, const Instance& instance,
                              const std::string& args) const {
  return fmt::format(
      "QK_TRY(cudaLaunchHostFunc(queue->stream, [](void *session) {{\n"
      "    unsigned char *const host_arena = ((qk_session *)session)->host_arena;\n"
      "    const unsigned char *const host_weights = ((qk_session *)session)->host_weights;\n"
      "    (void)host_arena;\n    (void)host_weights;\n    {}({});\n"
      "  }}, s), \"cudaLaunchHostFunc\", \"{}\", {})",
      instance.function, args, instance.call.body->symbol, c_string(layers(step)));
}

std::string Source::memory(const Buffer& b) const {
  const bool host = b.space == Space::host;
  if (host && b.kind == BufferKind::arena) return "host_arena";
  if (host && b.kind == BufferKind::constant) return "host_weights";
  return StepPrinter::memory(b);
}

int64_t Source::constant_offset(const Buffer& b) const {
  return b.space == Space::host ? host_weights_.offsets.at(b.constant)
                                : StepPrinter::constant_offset(b);
}

std::string Source::copy(const Step& step, const std::string& from, const std::string& to,
                         const std::string& bytes, bool to_device) {
  const CopyStep& own = *step.copy();
  const auto kind = [&](const View& v) { return program_.buffer(program_.owner(v.buffer)).kind; };
  const bool port = kind(own.from) == BufferKind::input || kind(own.to) == BufferKind::output;
  const std::string text =
      fmt::format("QK_TRY(cudaMemcpyAsync({}, {}, (size_t){}, {}), \"cudaMemcpyAsync\", \"\", {})",
                  to, from, bytes,
                  port ? "kind, stream"
                       : fmt::format("{}, queue->stream", to_device ? "cudaMemcpyHostToDevice"
                                                                    : "cudaMemcpyDeviceToHost"),
                  c_string(layers(step)));
  if (!port) return text;
  (to_device ? uploads : downloads) += "  " + text + ";\n";
  return "";
}

}  // namespace qc::cuda
