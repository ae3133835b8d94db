#include "backends/c/source.h"

#include <fmt/format.h>

namespace qc {

std::string Source::definition(const Instance& instance) const {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string declared = instance.varies ? "const int64_t *n" : "";
  if (!instance.local) {
    declared += fmt::format("{}const {} *given", declared.empty() ? "" : ", ", instance.given);
  }
  std::string passed = "&p";
  auto add = [&](const char* type, const std::vector<OperandSpec>& names,
                 const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].present())
        declared += fmt::format("{}{} *{}", declared.empty() ? "" : ", ", type, names[i].name);
      passed += views[i].present() ? ", " + names[i].name : std::string(", NULL");
    }
  };
  add("const void", kernel.in, call.in);
  add("void", kernel.out, call.out);
  std::string out =
      fmt::format("static {} void {}({}) {{\n", instance.rare ? "QC_RARE" : "QC_NOINLINE",
                  instance.function, declared);
  return out + fmt::format("  const {} p = {{{}}};\n  {}({});\n}}\n\n", kernel.params,
                           instance.values, call.body->symbol, passed);
}

std::string Source::invocation(const Step&, const Instance& instance, const std::string& params,
                               const std::string& args) const {
  std::string all = instance.varies ? "n" : "";
  for (const std::string& more : {params.empty() ? "" : "&" + params, args}) {
    if (!more.empty()) all += (all.empty() ? "" : ", ") + more;
  }
  return instance.function + "(" + all + ")";
}

std::string Source::subrange_definition(const Instance& instance) {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  constexpr size_t kMostIn = 12, kMostOut = 2;
  QC_CHECK(call.in.size() <= kMostIn && call.out.size() <= kMostOut,
           "a call that is split has more operands than its parts are handed");
  std::string text;
  if (!call_type_) {
    call_type_ = true;
    text += fmt::format(
        "/* A split step as its parts are handed it. */\n"
        "typedef struct {0}_parallel_call {{\n  const void *in[{1}];\n  void *out[{2}];\n"
        "  const void *params;\n  const int64_t *n;\n}} {0}_parallel_call;\n\n",
        options_.name, kMostIn, kMostOut);
  }
  std::string in, out, passed;
  const auto add = [&](const char* name, const std::vector<View>& views, std::string& list) {
    for (size_t i = 0; i < views.size(); ++i) {
      // The compiler knows which are absent.
      list += (i ? ", " : "") +
              (views[i].present() ? fmt::format("c->{}[{}]", name, i) : std::string("NULL"));
      passed += fmt::format(", {}[{}]", name, i);
    }
  };
  add("in", call.in, in);
  add("out", call.out, out);
  text += fmt::format(
      "static QC_NOINLINE void {0}(const void *call, int32_t first, int32_t last) {{\n"
      "  const {1}_parallel_call *const c = (const {1}_parallel_call *)call;\n"
      "  int32_t units[4] = {{first, last, 0, 0}};\n",
      instance.function, options_.name);
  if (instance.varies) text += "  const int64_t *const n = c->n;\n";
  if (!instance.local)
    text += fmt::format("  const {0} *const given = (const {0} *)c->params;\n", instance.given);
  return text + fmt::format(
                    "  while (units[0] < last) {{\n"
                    "    {0} p = {{{1}}};\n"
                    "    const void *in[] = {{{2}}};\n"
                    "    void *out[] = {{{3}}};\n"
                    "    const int32_t next = {4}_subrange(&p, in, out, units);\n"
                    "    {5}(&p{6});\n"
                    "    units[0] = next;\n  }}\n}}\n\n",
                    kernel.params, instance.values, in, out, call.body->split, call.body->symbol,
                    passed);
}

std::string Source::parallel(const Step&, const Instance& instance, const std::string& params,
                             const std::string& in, const std::string& out,
                             const std::string& units, const std::string& pad) const {
  std::string call = fmt::format(".in = {{{}}}, .out = {{{}}}", in, out);
  if (!params.empty()) call += ", .params = &" + params;
  if (instance.varies) call += ", .n = n";
  return fmt::format(
      "{0}{{\n{0}  const {4}_parallel_call call = {{{1}}};\n"
      "{0}  if (args->parallel_for == NULL) {{\n{0}    {2}(&call, 0, {3});\n"
      "{0}  }} else {{\n{0}    args->parallel_for(args->threads, {3}, {2}, &call);\n{0}  "
      "}}\n{0}}}\n",
      pad, call, instance.function, units, options_.name);
}

std::string Source::copy(const Step&, const std::string&, const std::string&, const std::string&,
                         bool) {
  QC_CHECK(false, "standalone C has one memory: nothing is copied between two");
  return {};
}

}  // namespace qc
