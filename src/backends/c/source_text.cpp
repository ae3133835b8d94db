// Prints the Program's steps: one function per distinct kernel instance, one call per step.
#include <fmt/format.h>

#include <cstring>
#include <map>

#include "backends/c/text.h"
#include "kernels/kernels.h"

namespace qc {
namespace {

/// The initialiser of a parameter struct from its words, by the kernel's field list.
std::string initialiser(const qk_entry& kernel, const std::vector<uint32_t>& words) {
  std::string out;
  size_t at = 0;
  std::string_view fields = kernel.fields;
  auto word = [&](bool is_float) {
    const uint32_t w = words[at++];
    float f;
    std::memcpy(&f, &w, sizeof f);
    if (is_float) return c_float(f);
    const auto i = static_cast<int32_t>(w);
    return i == INT32_MIN ? std::string("(-2147483647 - 1)") : std::to_string(i);
  };
  while (!fields.empty()) {
    const size_t comma = fields.find(',');
    const std::string_view field = fields.substr(0, comma);
    fields = comma == std::string_view::npos ? std::string_view{} : fields.substr(comma + 1);
    const bool is_float = field[0] == 'f';
    std::string_view name = field.substr(2);
    out += out.empty() ? "." : ", .";
    if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
      const int count = std::atoi(std::string(name.substr(bracket + 1)).c_str());
      out += std::string(name.substr(0, bracket)) + " = {";
      for (int i = 0; i < count; ++i) out += (i ? ", " : "") + word(is_float);
      out += "}";
    } else {
      out += std::string(name) + " = " + word(is_float);
    }
  }
  return out;
}

class Source {
 public:
  Source(const Program& program, const COptions& options, const std::vector<int64_t>& weights)
      : program_(program), options_(options), weights_(weights) {}

  std::string instances;
  std::string body;

  void steps(const Steps& list, int depth) {
    const std::string pad(static_cast<size_t>(depth) * 2, ' ');
    for (const Step& step : list) {
      if (!step.loc.names.empty()) {
        std::string names = fmt::format("{}", fmt::join(step.loc.names, " + "));
        if (names.size() > 90) names = names.substr(0, 87) + "...";
        body += pad + "/* " + c_comment(names) + " */\n";
      }
      switch (step.kind) {
        case Step::Kind::call:
          body += pad + call(step) + ";\n";
          break;
        case Step::Kind::branch:
          body += pad + "if (*(const unsigned char *)" + pointer(step.condition, false) + ") {\n";
          steps(step.body, depth + 1);
          body += pad + "} else {\n";
          steps(step.otherwise, depth + 1);
          body += pad + "}\n";
          break;
        case Step::Kind::loop:
          loop(step, depth, pad);
          break;
      }
    }
  }

 private:
  void loop(const Step& step, int depth, const std::string& pad) {
    const std::string i = fmt::format("trip{}", depth);
    std::string condition;
    if (step.limit.buffer >= 0)
      condition = fmt::format("{} < *(const int64_t *){}", i, pointer(step.limit, false));
    if (step.condition.buffer >= 0) {
      condition += fmt::format("{}*(const unsigned char *){}", condition.empty() ? "" : " && ",
                               pointer(step.condition, false));
    }
    body += pad + fmt::format("for (int64_t {0} = 0; {1}; ++{0}) {{\n", i, condition);
    if (step.counter.buffer >= 0) {
      body += pad + fmt::format("  *(int64_t *){} = {};\n", pointer(step.counter, true), i);
    }
    steps(step.body, depth + 1);
    body += pad + "}\n";
  }

  std::string pointer(View view, bool writable) {
    if (view.buffer < 0) return "NULL";
    const View root = program_.resolve(view);
    const Buffer& b = program_.buffers[static_cast<size_t>(root.buffer)];
    // Nothing is read or written there, but null is for absent operands.
    const bool callers = b.kind == BufferKind::input || b.kind == BufferKind::output;
    if (b.bytes == 0 && !callers) return fmt::format("({}void *)\"\"", writable ? "" : "const ");
    int64_t offset = root.offset;
    std::string base;
    switch (b.kind) {
      case BufferKind::arena:
        base = "arena";
        offset += b.offset;
        break;
      case BufferKind::state:
        base = "state";
        offset += b.offset;
        break;
      case BufferKind::constant:
        base = "weights";
        offset += weights_[static_cast<size_t>(root.buffer)];
        break;
      case BufferKind::input:
        base = offset == 0 ? fmt::format("inputs[{}]", b.slot)
                           : fmt::format("(const unsigned char *)inputs[{}]", b.slot);
        break;
      case BufferKind::output:
        base = offset == 0 ? fmt::format("outputs[{}]", b.slot)
                           : fmt::format("(unsigned char *)outputs[{}]", b.slot);
        break;
    }
    const std::string text = offset == 0 ? base : fmt::format("({} + {})", base, offset);
    if (callers && offset == 0) return text;
    return fmt::format("({}void *){}", writable ? "" : "const ", text);
  }

  std::string call(const Step& step) {
    const qk_entry& kernel = *find_kernel(step.kernel);
    std::string absent;
    for (View v : step.in) absent += v.buffer < 0 ? '0' : '1';
    absent += '|';
    for (View v : step.out) absent += v.buffer < 0 ? '0' : '1';
    std::string key = step.kernel.str() + absent;
    if (options_.specialise == Specialise::speed) {
      key += std::string(reinterpret_cast<const char*>(step.params.data()), step.params.size() * 4);
    }
    auto [it, fresh] =
        functions_.try_emplace(key, fmt::format("{}_{}", options_.name, functions_.size()));
    if (fresh) define(it->second, kernel, step);
    std::string args;
    if (options_.specialise == Specialise::size) args = "&" + parameters(kernel, step);
    for (View v : step.in) {
      if (v.buffer >= 0) args += (args.empty() ? "" : ", ") + pointer(v, false);
    }
    for (View v : step.out) {
      if (v.buffer >= 0) args += (args.empty() ? "" : ", ") + pointer(v, true);
    }
    return it->second + "(" + args + ")";
  }

  void define(const std::string& function, const qk_entry& kernel, const Step& step) {
    std::string declared, passed = options_.specialise == Specialise::speed ? "&p" : "p";
    if (options_.specialise == Specialise::size)
      declared = fmt::format("const {} *p", kernel.params);
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (step.in[i].buffer >= 0)
        declared += fmt::format("{}const void *in{}", declared.empty() ? "" : ", ", i);
      passed += step.in[i].buffer >= 0 ? fmt::format(", in{}", i) : std::string(", NULL");
    }
    for (size_t i = 0; i < step.out.size(); ++i) {
      if (step.out[i].buffer >= 0)
        declared += fmt::format("{}void *out{}", declared.empty() ? "" : ", ", i);
      passed += step.out[i].buffer >= 0 ? fmt::format(", out{}", i) : std::string(", NULL");
    }
    instances += fmt::format("static QC_NOINLINE void {}({}) {{\n", function, declared);
    if (options_.specialise == Specialise::speed) {
      instances +=
          fmt::format("  const {} p = {{{}}};\n", kernel.params, initialiser(kernel, step.params));
    }
    instances += fmt::format("  {}({});\n}}\n\n", step.kernel.str(), passed);
  }

  /// A parameter struct in read-only memory, shared by calls with the same values.
  std::string parameters(const qk_entry& kernel, const Step& step) {
    std::string key =
        std::string(kernel.params) + '|' +
        std::string(reinterpret_cast<const char*>(step.params.data()), step.params.size() * 4);
    auto [it, fresh] =
        structs_.try_emplace(key, fmt::format("{}_p{}", options_.name, structs_.size()));
    if (fresh) {
      instances += fmt::format("static const {} {} = {{{}}};\n\n", kernel.params, it->second,
                               initialiser(kernel, step.params));
    }
    return it->second;
  }

  const Program& program_;
  const COptions& options_;
  const std::vector<int64_t>& weights_;
  std::map<std::string, std::string> functions_, structs_;
};

std::string reset_text(const Program& program, const COptions& options,
                       const std::vector<int64_t>& weights) {
  const bool file = options.weights == WeightForm::file;
  std::string out = fmt::format("void {}_reset(void *state{}) {{\n", options.name,
                                file ? ", const void *weights" : "");
  for (const Port& port : program.states) {
    const Buffer& b = program.buffers[static_cast<size_t>(port.buffer)];
    out += fmt::format(
        "  memcpy((unsigned char *)state + {}, {} + {}, {});\n", b.offset,
        file ? "(const unsigned char *)weights"
             : fmt::format("(const unsigned char *)(const void *){}_weights", options.name),
        weights[static_cast<size_t>(port.buffer)], b.bytes);
  }
  return out + "}\n";
}

}  // namespace

std::string source_text(const Program& program, const COptions& options,
                        const std::vector<int64_t>& weight_offsets, int64_t weight_bytes) {
  const std::string& name = options.name;
  const std::string upper = c_upper(name);
  Source source(program, options, weight_offsets);
  source.steps(program.steps, 1);
  const bool state = program.state_bytes > 0, file = options.weights == WeightForm::file;
  const bool weights = weight_bytes > 0;
  std::string out = fmt::format(
      "/* {0}: generated by quantc. */\n"
      "#if defined(__GNUC__) && !defined(__clang__)\n"
      "#pragma GCC optimize(\"fp-contract=off\")\n"
      "#elif defined(__clang__)\n"
      "#pragma STDC FP_CONTRACT OFF\n"
      "#endif\n"
      "#include \"{0}.h\"\n\n#include <string.h>\n\n#include \"{0}_kernels.h\"\n\n"
      "#if defined(__GNUC__)\n#define QC_NOINLINE __attribute__((noinline))\n"
      "#else\n#define QC_NOINLINE\n#endif\n\n",
      name);
  if (weights && options.weights == WeightForm::literal) {
    out += fmt::format("_Alignas(64) extern const unsigned char {}_weights[{}][2048];\n\n", name,
                       (weight_bytes + 2047) / 2048);
  } else if (weights && options.weights == WeightForm::incbin) {
    out += fmt::format("_Alignas(64) extern const unsigned char {}_weights[{}];\n\n", name,
                       weight_bytes);
  }
  out += source.instances;
  out += fmt::format("int {0}_invoke_args(const {0}_args *args) {{\n", name);
  out += "  if (args == NULL) return " + upper + "_NULL_POINTER;\n";
  auto aligned = [&](const char* pointer) {
    return fmt::format("  if ((uintptr_t){} % {}_ARENA_ALIGN != 0) return {}_MISALIGNED;\n",
                       pointer, upper, upper);
  };
  auto not_null = [&](const std::string& pointer) {
    return fmt::format("  if ({} == NULL) return {}_NULL_POINTER;\n", pointer, upper);
  };
  if (!program.inputs.empty()) {
    out += "  const void *const *const inputs = args->inputs;\n" + not_null("inputs");
    for (size_t i = 0; i < program.inputs.size(); ++i)
      out += not_null(fmt::format("inputs[{}]", i));
  }
  if (!program.outputs.empty()) {
    out += "  void *const *const outputs = args->outputs;\n" + not_null("outputs");
    for (size_t i = 0; i < program.outputs.size(); ++i)
      out += not_null(fmt::format("outputs[{}]", i));
  }
  if (program.arena_bytes > 0) {
    out += "  unsigned char *const arena = (unsigned char *)args->arena;\n" + not_null("arena") +
           aligned("arena");
  }
  if (state) {
    out += "  unsigned char *const state = (unsigned char *)args->state;\n" + not_null("state") +
           aligned("state");
  }
  if (weights) {
    out += file ? "  const unsigned char *const weights = (const unsigned char *)args->weights;\n" +
                      not_null("weights") + aligned("weights")
                : fmt::format(
                      "  const unsigned char *const weights = (const unsigned char *)(const void "
                      "*){}_weights;\n",
                      name);
  }
  const char* unused[] = {"inputs", "arena", "weights"};
  const bool declared[] = {!program.inputs.empty(), program.arena_bytes > 0, weights};
  for (int i = 0; i < 3; ++i) {
    if (declared[i]) out += fmt::format("  (void){};\n", unused[i]);
  }
  out += source.body + fmt::format("  return {}_OK;\n}}\n\n", upper);
  out += fmt::format(
      "int {0}_invoke(const void *const inputs[], void *const outputs[], void *arena{1}{2}) {{\n"
      "  const {0}_args args = {{inputs, outputs, arena, {3}, {4}}};\n"
      "  return {0}_invoke_args(&args);\n}}\n",
      name, state ? ", void *state" : "", file ? ", const void *weights" : "",
      state ? "state" : "NULL", file ? "weights" : "NULL");
  if (state) out += "\n" + reset_text(program, options, weight_offsets);
  if (file) {
    out += fmt::format(
        "\nint {0}_check_weights(const void *weights) {{\n"
        "  const unsigned char *p = (const unsigned char *)weights;\n"
        "  uint64_t hash = UINT64_C(0xcbf29ce484222325);\n"
        "  for (size_t i = 0; i < {1}_WEIGHT_BYTES; i += 8) {{\n"
        "    uint64_t word = 0;\n"
        "    for (unsigned k = 0; k < 8; ++k) word |= (uint64_t)p[i + k] << (8 * k);\n"
        "    hash = (hash ^ word) * UINT64_C(0x100000001b3);\n"
        "  }}\n"
        "  return hash == {1}_WEIGHT_HASH;\n}}\n",
        name, upper);
  }
  return out;
}

}  // namespace qc
