#include "driver/own_op.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <regex>
#include <set>

#include "driver/build.h"
#include "driver/tool.h"
#include "kernels/added.h"
#include "ops/common/registration.h"
#include "support/scratch.h"

namespace qc {
namespace {

bool is_name(std::string_view text) {
  static const std::regex name("[A-Za-z][A-Za-z0-9_]*");
  return std::regex_match(text.begin(), text.end(), name);
}

/// What C, C++ or the text around it has as a name.
const std::set<std::string, std::less<>>& reserved_names() {
  static const std::set<std::string, std::less<>> names = {
      "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
      "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
      "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
      "union", "unsigned", "void", "volatile", "while", "alignas", "alignof", "and", "asm", "bool",
      "catch", "class", "delete", "explicit", "export", "false", "friend", "mutable", "namespace",
      "new", "not", "operator", "or", "private", "protected", "public", "template", "this", "throw",
      "true", "try", "typename", "using", "virtual", "xor",
      // what functions and nodes have themselves
      "p", "unit", "units", "to", "arithmetic"};
  return names;
}

std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u8:
    case DType::boolean:
      return "uint8_t";
    case DType::u16:
      return "uint16_t";
    case DType::u32:
      return "uint32_t";
    case DType::u64:
      return "uint64_t";
    default:
      return {};
  }
}

/// An operand or result of the kernel: those of the op, and parameters that are lists.
struct Pointer {
  std::string name;
  std::string_view type;
  bool written = false;
};

/// Makes the texts of one op's kernels.
class KernelWriter {
 public:
  KernelWriter(OwnOp& op, const OwnText& text) : op_(op), text_(text) {
    shown_ = fmt::format("{}::{}", op.domain, op.op);
  }

  /// Names and types of all values; parameters and members by the names the texts use.
  Result<Ok> check() {
    std::set<std::string> names;
    const auto take = [&](const std::string& name, std::string_view what) -> Result<Ok> {
      if (!is_name(name) || reserved_names().contains(name))
        return wrong("{} '{}' has no name that C can have", what, name);
      if (!names.insert(name).second) return wrong("two of its values are called '{}'", name);
      return Ok{};
    };
    if (!is_name(op_.domain) || !is_name(op_.op))
      return error(Code::usage, "'{}' is not the name of an op: domain::name", op_.name);
    if (op_.inputs.empty() || op_.outputs.empty()) return wrong("needs operands and results");
    for (const auto* list : {&op_.inputs, &op_.outputs}) {
      for (const OwnOperand& o : *list) {
        QC_TRY(take(o.name, list == &op_.inputs ? "operand" : "result"));
        for (const char* member :
             {"_shape", "_rank", "_size", "_scale", "_zero_point", "_qmin", "_qmax"})
          names.insert(o.name + member);
        if (c_type(o.dtype).empty())
          return wrong("'{}' is {}, which C has no type for", o.name, name(o.dtype));
      }
    }
    for (const OwnParameter& p : op_.parameters) {
      QC_TRY(take(p.name, "parameter"));
      if (is_list(p)) names.insert(p.name + "_count");
      const bool is_text = std::holds_alternative<std::string>(p.standard);
      if (is_text == p.choices.empty())
        return wrong("parameter '{}' is a text, and has no choices", p.name);
      for (const std::string& choice : p.choices) QC_TRY(take(choice, "choice"));
    }
    if (text_.c.empty()) return wrong("has no C text");
    if (!text_.cuda.empty() && text_.units.empty())
      return wrong("the text for CUDA computes one unit: `units` says how many there are");
    return Ok{};
  }

  /// The signature with the members that texts use.
  Signature signature(const std::string& name) {
    Signature s;
    s.name = name;
    s.folder = "own";
    s.params = "qk_" + name + "_params";
    op_.members.clear();
    using Kind = OwnMember::Kind;
    const size_t count = op_.inputs.size() + op_.outputs.size();
    for (size_t i = 0; i < count; ++i) {
      const bool in = i < op_.inputs.size();
      const OwnOperand& o = in ? op_.inputs[i] : op_.outputs[i - op_.inputs.size()];
      (in ? s.in : s.out).push_back({o.name});
      add(s, o.name + "_shape", Field::Type::i32, 8, {Kind::shape, i});
      add(s, o.name + "_rank", Field::Type::i32, 1, {Kind::rank, i});
      add(s, o.name + "_size", Field::Type::i32, 1, {Kind::size, i});
      if (!op_.on_codes || !is_code_type(o.dtype)) continue;
      add(s, o.name + "_scale", Field::Type::f32, 1, {Kind::scale, i});
      add(s, o.name + "_zero_point", Field::Type::i32, 1, {Kind::zero_point, i});
      add(s, o.name + "_qmin", Field::Type::i32, 1, {Kind::qmin, i});
      add(s, o.name + "_qmax", Field::Type::i32, 1, {Kind::qmax, i});
    }
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      const OwnParameter& p = op_.parameters[i];
      const bool real = std::holds_alternative<double>(p.standard);
      const bool number = std::holds_alternative<int64_t>(p.standard);
      if (is_list(p)) {
        s.in.push_back({p.name});
        add(s, p.name + "_count", Field::Type::i32, 1, {Kind::count, i});
      } else {
        add(s, p.name,
            real     ? Field::Type::f32
            : number ? Field::Type::i64
                     : Field::Type::i32,
            1, {Kind::parameter, i});
      }
    }
    if (s.fields.empty())
      append(s, op_.inputs[0].name + "_size", Field::Type::i32, 1, {Kind::size, 0});
    s.params_size = (s.params_size + 7) / 8 * 8;
    return s;
  }

  /// The text of the C kernel; with `lines` compilers know it by the user's lines.
  std::string c_text(const Signature& s, bool lines) const {
    std::string out = common(s, lines);
    if (text_.units.empty())
      return out + function("QK_INLINE void", "qk_" + s.name, s, body("C text", text_.c, lines));
    out += function("QK_INLINE void", "qk_" + s.name + "_unit", s, body("C text", text_.c, lines),
                    ", int64_t unit");
    std::string passed;
    for (const Pointer& x : pointers()) passed += ", " + x.name;
    return out + function("QK_INLINE void", "qk_" + s.name, s,
                          fmt::format("  const int64_t units = (int64_t)(\n{}{});\n{}"
                                      "  for (int64_t unit = 0; unit < units; ++unit)\n"
                                      "    qk_{}_unit(p, unit{});\n",
                                      line("units", lines), text_.units, epilogue(lines), s.name,
                                      passed));
  }
  /// The text of the kernel for CUDA, whose operands are bytes.
  std::string cuda_text(const Signature& s, bool lines) const {
    const bool own = !text_.cuda.empty();
    return common(s, lines) +
           fmt::format(
               "QK_UNIT int64_t qk_{}_cuda_units(const {} *p) {{\n  (void)p;\n"
               "  return (int64_t)(\n{}{});\n{}}}\n",
               s.name, s.params, line("units", lines), text_.units, epilogue(lines)) +
           function("QK_UNIT void", "qk_" + s.name + "_cuda", s,
                    own ? body("CUDA text", text_.cuda, lines) : body("C text", text_.c, lines),
                    ", int64_t unit", true);
  }

  /// A C file that runs both in process.
  std::string library_text(const Signature& s) const {
    const auto arguments = [&](const char* unit) {
      std::string out = fmt::format("(const {} *)p{}", s.params, unit);
      for (size_t i = 0; i < s.in.size(); ++i) out += fmt::format(", in[{}]", i);
      for (size_t i = 0; i < s.out.size(); ++i) out += fmt::format(", out[{}]", i);
      return out;
    };
    std::string out(embedded_header("kernels/common/cuda.h"));
    out += numerics_source(text_.helpers + text_.c + text_.cuda + text_.units);
    out += c_text(s, true);
    out += fmt::format(
        "void qk_run(const void *p, const void *const *in, void *const *out) {{\n  "
        "qk_{}({});\n}}\n",
        s.name, arguments(""));
    if (text_.units.empty()) return out;
    return out + cuda_text(s, true) +
           fmt::format(
               "void qk_run_units(const void *p, const void *const *in, void *const *out) {{\n"
               "  const int64_t units = qk_{0}_cuda_units((const {1} *)p);\n"
               "  for (int64_t unit = 0; unit < units; ++unit) qk_{0}_cuda({2});\n}}\n",
               s.name, s.params, arguments(", unit"));
  }

  /// What the compiler said, by the user's lines.
  Diag located(const Diag& failed) const {
    std::string said;
    for (const std::string& note : failed.notes) said += note + "\n";
    const std::regex where(
        shown_ +
        " (C text|CUDA text|helpers|units):(\\d+):(?:\\d+:)? *(?:fatal )?error: ([^\\n]*)");
    std::smatch found;
    if (!std::regex_search(said, found, where)) {
      Diag out = error(Code::tool, "the C text of op '{}' does not compile", shown_);
      out.notes = failed.notes;
      out.notes.insert(out.notes.begin(), failed.text);
      return out;
    }
    Diag out = error(Code::tool, "op '{}', line {} of its {}: {}", shown_, found[2].str(),
                     found[1].str(), found[3].str());
    out.notes = failed.notes;
    return out;
  }

  template <class... Args>
  Diag wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::usage, "op '{}': {}", shown_,
                 fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  static bool is_list(const OwnParameter& p) {
    return std::holds_alternative<Ints>(p.standard) || std::holds_alternative<Floats>(p.standard);
  }

  bool uses(const std::string& member) const {
    const std::string all = text_.helpers + text_.c + text_.cuda + text_.units;
    return std::regex_search(all, std::regex("\\b" + member + "\\b"));
  }
  void add(Signature& s, const std::string& member, Field::Type type, int count, OwnMember what) {
    if (uses(member)) append(s, member, type, count, what);
  }
  void append(Signature& s, const std::string& member, Field::Type type, int count,
              OwnMember what) {
    Field f;
    f.name = member;
    f.type = type;
    f.count = count;
    f.array = count > 1;
    const size_t size = type == Field::Type::i64 ? 8 : 4;
    f.offset = (s.params_size + size - 1) / size * size;
    f.at = s.numbers;
    s.numbers += static_cast<size_t>(count);
    s.params_size = f.offset + size * static_cast<size_t>(count);
    s.fields.push_back(std::move(f));
    op_.members.push_back(what);
  }

  std::vector<Pointer> pointers() const {
    std::vector<Pointer> out;
    for (const OwnOperand& o : op_.inputs) out.push_back({o.name, c_type(o.dtype)});
    for (const OwnParameter& p : op_.parameters) {
      if (is_list(p))
        out.push_back({p.name, std::holds_alternative<Ints>(p.standard) ? "int64_t" : "float"});
    }
    for (const OwnOperand& o : op_.outputs) out.push_back({o.name, c_type(o.dtype), true});
    return out;
  }
  /// A function of the operands and results; as bytes they are called x_bytes.
  std::string function(std::string_view type, const std::string& name, const Signature& s,
                       const std::string& text, std::string_view unit = "",
                       bool bytes = false) const {
    std::string out = fmt::format("{} {}(const {} *p{}", type, name, s.params, unit);
    for (const Pointer& x : pointers()) {
      out += fmt::format(", {}{} *{}{}", x.written ? "" : "const ", bytes ? "void" : x.type, x.name,
                         bytes ? "_bytes" : "");
    }
    out += ") {\n";
    // Products meet additions only where the text says so.
    out += "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n";
    for (const Pointer& x : pointers()) {
      if (!bytes) continue;
      out += fmt::format("  {0}{1} *{2} = ({0}{1} *){2}_bytes;\n", x.written ? "" : "const ",
                         x.type, x.name);
    }
    return out + text + "}\n";
  }
  /// What the user wrote, where texts of parameters are numbers and nothing has to be used.
  std::string body(std::string_view part, const std::string& text, bool lines) const {
    std::string out;
    for (const OwnParameter& p : op_.parameters) {
      if (!p.choices.empty()) out += fmt::format("  enum {{ {} }};\n", fmt::join(p.choices, ", "));
    }
    out += "  (void)p;\n";
    if (!text_.units.empty()) out += "  (void)unit;\n";
    for (const Pointer& x : pointers()) out += fmt::format("  (void){};\n", x.name);
    return out + line(part, lines) + text + epilogue(lines);
  }
  /// The struct and the helpers, once for both kernels.
  std::string common(const Signature& s, bool lines) const {
    std::string members;
    for (const Field& f : s.fields) {
      members += fmt::format("  {} {}{};\n",
                             f.type == Field::Type::f32   ? "float"
                             : f.type == Field::Type::i64 ? "int64_t"
                                                          : "int32_t",
                             f.name, f.array ? fmt::format("[{}]", f.count) : "");
    }
    std::string helpers = text_.helpers;
    if (!helpers.empty()) helpers = line("helpers", lines) + helpers + epilogue(lines);
    return fmt::format(
        "/* The op {0}, written by its user. */\n"
        "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
        "#ifndef QK_INLINE\n#if defined(__GNUC__)\n"
        "#define QK_INLINE static inline __attribute__((always_inline, unused))\n#else\n"
        "#define QK_INLINE static inline\n#endif\n#endif\n"
        "#ifndef {1}_defined\n#define {1}_defined\ntypedef struct {{\n{2}}} {1};\n{3}#endif\n",
        shown_, s.params, members, helpers);
  }
  std::string line(std::string_view part, bool lines) const {
    return lines ? fmt::format("#line 1 \"{} {}\"\n", shown_, part) : "";
  }
  static std::string epilogue(bool lines) { return lines ? "\n#line 1 \"quantc\"\n" : "\n"; }

  OwnOp& op_;
  const OwnText& text_;
  std::string shown_;
};

/// What the kernels are compiled into, and its functions; nothing without a compiler.
struct Compiled {
  void (*run)(const void*, const void* const*, void* const*) = nullptr;
  void (*run_units)(const void*, const void* const*, void* const*) = nullptr;
};

Result<Compiled> compiled(const KernelWriter& writer, const Signature& signature) {
  Compiled out;
  const char* cc = std::getenv("CC");
  if (find_tool(cc && *cc ? cc : "cc").empty()) return out;
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  std::ofstream file(folder.path() + "/op.c", std::ios::binary);
  file << writer.library_text(signature);
  file.close();
  if (!file) return error(Code::file, "cannot write {}/op.c", folder.path());
  const auto library =
      Library::build(folder.path(), {"op.c"},
                     {"", {"-O2", "-ffp-contract=off", "-Werror=implicit-function-declaration"}});
  if (!library.ok()) return writer.located(library.diag());
  auto* const kept =
      new std::shared_ptr<Library>(*library);  // as long as the process: graphs run it
  using Run = decltype(Compiled::run);
  out.run = reinterpret_cast<Run>((*kept)->symbol("qk_run"));
  out.run_units = reinterpret_cast<Run>((*kept)->symbol("qk_run_units"));
  return out;
}

AddedKernel kernel_of(Signature signature, std::string symbol, std::string text, int stack,
                      decltype(Compiled::run) run) {
  AddedKernel out;
  out.signature = std::move(signature);
  out.body.symbol = std::move(symbol);
  out.body.file = "kernels/own/portable.c";
  out.body.stack = stack;
  out.body.run = run;
  out.text = std::move(text);
  return out;
}

/// The kernel of the op, which is compiled and added unless an earlier definition has the same.
Result<std::string> add_kernels(KernelWriter& writer, const OwnOp& op, const OwnText& text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string base = fmt::format("own_{}_{}", op.domain, op.op);
  for (int version = 1;; ++version) {
    const std::string name = version == 1 ? base : fmt::format("{}_{}", base, version);
    Signature signature = writer.signature(name);
    std::string c = writer.c_text(signature, false);
    std::string cuda = text.units.empty() ? "" : writer.cuda_text(signature, false);
    if (const AddedKernel* known = find_added_kernel(name)) {
      if (known->text == c && (known->device ? known->device->text : "") == cuda) return name;
      continue;
    }
    QC_ASSIGN(const Compiled functions, compiled(writer, signature));
    const AddedKernel* device = nullptr;
    if (!cuda.empty()) {
      Signature own = signature;
      own.name += "_device";
      AddedKernel made = kernel_of(std::move(own), "qk_" + name + "_cuda", std::move(cuda),
                                   text.stack, functions.run_units);
      made.body.machine = "cuda";
      made.body.file = "kernels/own/cuda.cu";
      device = &add_kernel(std::move(made));
    }
    AddedKernel made =
        kernel_of(std::move(signature), "qk_" + name, std::move(c), text.stack, functions.run);
    made.device = device;
    add_kernel(std::move(made));
    return name;
  }
}

}  // namespace

Result<Ok> define_own_op(OwnOp op, const OwnText& text) {
  register_all_ops();
  const size_t colons = op.name.find("::");
  op.domain = op.name.substr(0, std::min(colons, op.name.size()));
  op.op = colons == std::string::npos ? "" : op.name.substr(colons + 2);
  op.on_codes = !text.quantizes.empty();
  KernelWriter writer(op, text);
  QC_TRY(writer.check());
  op.name = op.domain + "." + op.op;
  op.torch = op.op + ".default";
  if (op.onnx.empty()) op.onnx = op.op;
  std::shared_ptr<const OwnOp> of;
  if (op.on_codes) {
    std::string name = text.quantizes;
    if (const size_t at = name.find("::"); at != std::string::npos) name.replace(at, 2, ".");
    of = find_own_op(name);
    if (!of)
      return writer.wrong("there is no op '{}' that it could be the form of", text.quantizes);
    const auto same = [](const OwnParameter& a, const OwnParameter& b) {
      return a.name == b.name && a.standard.index() == b.standard.index() && a.choices == b.choices;
    };
    if (of->inputs.size() != op.inputs.size() || of->outputs.size() != 1 ||
        op.outputs.size() != 1 || !is_code_type(op.outputs[0].dtype) ||
        !std::equal(of->parameters.begin(), of->parameters.end(), op.parameters.begin(),
                    op.parameters.end(), same)) {
      return writer.wrong(
          "the form of '{}' on codes has its operands and parameters, and one result of codes",
          text.quantizes);
    }
  }
  QC_ASSIGN(op.kernel, add_kernels(writer, op, text));
  const std::string name = op.name;
  QC_TRY(add_own_op(std::move(op)));
  if (!of) return Ok{};
  OwnOp with_codes = *of;
  with_codes.quantized = find_own_op(name);
  return add_own_op(std::move(with_codes));
}

bool has_own_kernels_compiled(const Program& program) {
  bool all = true;
  for_each_step(program.steps, [&](const Step& step) {
    const Call* call = step.call();
    all = all && (!call || !call->body || call->body->run || !find_added_body(call->body->symbol));
  });
  return all;
}

}  // namespace qc
