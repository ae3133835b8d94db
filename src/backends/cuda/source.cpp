#include "backends/cuda/source.h"

#include <fmt/format.h>

#include "program/device.h"
#include "program/split.h"
#include "support/escape.h"

namespace qc::cuda {
namespace {

/// Whether a unit is the work of a block of threads, not of one.
bool by_blocks(const Call& call) { return call.body->machine != "cuda"; }

/// What a kernel begins with. The member `resident` of its parameters says how many of its blocks
/// are to share a multiprocessor (kernels/common/cuda.h).
std::string qualifiers(const Call& call) {
  const int64_t blocks = call.kernel->field("resident") ? call.integer("resident") : 0;
  return blocks > 0 ? fmt::format("QK_GLOBAL_OF({})", blocks) : "QK_GLOBAL";
}

/// A launch of a kernel that is handed numbers needs them as a value with an address.
std::string with_given(const std::string& type, const std::string& given,
                       const std::string& launch) {
  return fmt::format("{{ const {} given = {}; {}; }}", type, given, launch);
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

/// Says of optional operands and results that they are there.
std::string present(const Call& call) {
  std::string out;
  const auto add = [&](const std::vector<OperandSpec>& names, const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (names[i].optional && views[i].present())
        out += fmt::format("  QK_PRESENT({})\n", names[i].name);
    }
  };
  add(call.kernel->in, call.in);
  add(call.kernel->out, call.out);
  return out;
}

}  // namespace

std::string Source::for_gpus(const std::string& statement) const {
  if (capability_ == 0) return statement;
  return fmt::format("#if QK_ARCH_FROM({})\n{}#endif\n", capability_, statement);
}

/// The registers of tiles for tensor cores are arrays whose sizes the compiler has to know.
bool Source::may_share(const Call& call) const {
  return call.body->machine != "mma" && call.body->machine != "wgmma";
}

std::string Source::literal(const std::string& type, const std::string& values) const {
  return fmt::format("{}{{{}}}", type, values);
}

/// What a kernel's parameters are, for it and for the host.
std::string Source::params_function(const Instance& instance) {
  return fmt::format(
      "QK_BOTH {0} params_of_{1}({2}) {{\n  const {0} p = {{{3}}};\n  return p;\n}}\n",
      instance.call.kernel->params, instance.function,
      instance.local ? "void" : fmt::format("const {} *given", instance.given), instance.values);
}

std::string Source::definition(const Instance& instance) const {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string passed;
  const std::string given = instance.local ? "" : fmt::format("const {} *given", instance.given);
  if (call.body->machine.empty()) {  // the host computes it
    const std::string declared = operands(call, given, passed);
    return fmt::format("static void {}({}) {{\n  const {} p = {{{}}};\n  {}(&p{});\n}}\n\n",
                       instance.function, declared, kernel.params, instance.values,
                       call.body->symbol, passed);
  }
  const std::string declared =
      operands(call,
               instance.local ? "int64_t units"
                              : fmt::format("int64_t units, const {} given", instance.given),
               passed);
  const auto figure = [&](const char* type, const char* name) {
    return fmt::format(
        "static {0} {1}_of_{2}({3}) {{\n  const {4} p = params_of_{2}({5});\n  return "
        "{6}_{1}(&p);\n}}\n",
        type, name, instance.function, instance.local ? "void" : given, kernel.params,
        instance.local ? "" : "given", call.body->symbol);
  };
  std::string out = params_function(instance) + figure("int64_t", "units");
  if (by_blocks(call)) out += figure("int32_t", "shared");
  out += fmt::format("{} {}({}) {{\n", qualifiers(call), instance.function, declared);
  return out +
         for_gpus(fmt::format(
             "{}  const {} p = params_of_{}({});\n  {}(units) {}(&p, unit{});\n", present(call),
             kernel.params, instance.function, instance.local ? "" : "&given",
             by_blocks(call) ? "QK_FOR_BLOCK" : "QK_FOR_UNIT", call.body->symbol, passed)) +
         "}\n\n";
}

std::string Source::subrange_definition(const Instance& instance) {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string declared = "int64_t units", passed, in, out, present;
  if (!instance.local) declared += fmt::format(", const {} given", instance.given);
  auto add = [&](const char* type, const char* list, const std::vector<OperandSpec>& names,
                 const std::vector<View>& views, std::string& held) {
    for (size_t i = 0; i < views.size(); ++i) {
      // Absent ones have no name: the compiler knows that they are null.
      const bool is_there = views[i].present();
      declared += fmt::format(", {} *{}", type, is_there ? names[i].name : "");
      held += (i ? ", " : "") + (is_there ? names[i].name : std::string("NULL"));
      if (is_there) present += fmt::format(" QK_PRESENT({})", names[i].name);
      passed += fmt::format(", qk_pointer{{{}[{}]}}", list, i);
    }
  };
  add("const void", "in", kernel.in, call.in, in);
  add("void", "out", kernel.out, call.out, out);
  if (call.body->vector_width > 0)
    return vector_definition(instance, declared, passed, in, out, present);
  const std::string subrange =
      call.body->split.empty()
          ? ""
          : fmt::format(
                "    int32_t own[4] = {{(int32_t)unit, (int32_t)unit + 1, 0, 0}};\n"
                "    {}_subrange(&p, in, out, own);\n",
                call.body->split);
  return params_function(instance) +
         fmt::format("QK_GLOBAL {}({}) {{\n", instance.function, declared) +
         for_gpus(fmt::format("  QK_FOR_UNIT(units) {{\n"
                              "    {0} p = params_of_{1}({2});\n"
                              "    const void *in[] = {{{3}}};\n"
                              "    void *out[] = {{{4}}};\n{5}"
                              "    {6}(&p{7});\n  }}\n",
                              kernel.params, instance.function, instance.local ? "" : "&given",
                              in.empty() ? "NULL" : in, out, subrange, call.body->symbol, passed)) +
         "}\n\n";
}

/// Each thread takes some neighbouring elements (kernels/common/vectors.h).
std::string Source::vector_definition(const Instance& instance, const std::string& declared,
                                      const std::string& passed, const std::string& in,
                                      const std::string& out, const std::string& present) const {
  const Call& call = instance.call;
  const std::string statements = fmt::format(
      "  const void *const in[] = {{{0}}};\n"
      "  void *const out[] = {{{1}}};\n"
      " {9}\n"
      "  QK_FOR_VECTORS(units, {2})\n"
      "  qk_vectors<{2}>(thread, units, params_of_{3}({4}), in, out, QK_CALLED({5}_spans),\n"
      "    QK_CALLED({5}_advance), [](const {6} *p, const void *const *in, void *const *out) {{\n"
      "      {7}(p{8});\n    }});\n",
      in, out, call.body->vector_width, instance.function, instance.local ? "" : "&given",
      call.body->split, call.kernel->params, call.body->symbol, passed, present);
  return params_function(instance) +
         fmt::format("QK_GLOBAL {}({}) {{\n", instance.function, declared) + for_gpus(statements) +
         "}\n\n";
}

std::string Source::counted_units(const Call& call) { return call.body->split + "_units(&p)"; }

std::string Source::parallel(const Step& step, const Instance& instance, const std::string& params,
                             const std::string& in, const std::string& out,
                             const std::string& units, const std::string& pad) const {
  std::string args = instance.local ? "" : "given";
  for (const std::string& list : {in, out}) {
    if (!list.empty()) args += (args.empty() ? "" : ", ") + list;
  }
  const std::string launch = fmt::format(
      "QK_STEP({}(queue, {}, {}, {}), \"launch\", \"{}\", {})",
      instance.call.body->vector_width > 0
          ? fmt::format("qk_launch_vectors<{}>", instance.call.body->vector_width)
          : "qk_launch",
      instance.function, units, args, instance.call.body->symbol, c_string(layers(step)));
  if (instance.local) return pad + launch + ";\n";
  // Of free sizes the kernel counts its units.
  const std::string count = is_static(instance.call)
                                ? ""
                                : fmt::format("const {} p = params_of_{}(&given); (void)p; ",
                                              instance.call.kernel->params, instance.function);
  return pad + with_given(instance.given, params, count + launch) + "\n";
}

std::string Source::invocation(const Step& step, const Instance& instance,
                               const std::string& params, const std::string& args) const {
  const Call& call = instance.call;
  if (is_host_step(program_, step))
    return host_call(step, instance, (instance.local ? "" : "&" + params + ", ") + args);
  const auto figure = [&](const char* name) {
    return fmt::format("{}_of_{}({})", name, instance.function, instance.local ? "" : "&given");
  };
  const std::string launch =
      fmt::format("QK_STEP({}(queue, {}, {}{}, {}{}), \"launch\", \"{}\", {})",
                  by_blocks(call) ? "qk_launch_blocks" : "qk_launch", instance.function,
                  by_blocks(call) ? figure("shared") + ", " : "", figure("units"),
                  instance.local ? "" : "given, ", args, call.body->symbol, c_string(layers(step)));
  return instance.local ? launch : with_given(instance.given, params, launch);
}

/// The stream calls it when what is before is done.
std::string Source::host_call(const Step& step, const Instance& instance,
                              const std::string& args) const {
  return fmt::format(
      "QK_STEP(cudaLaunchHostFunc(queue->stream, [](void *session) {{\n"
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
