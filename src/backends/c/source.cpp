#include "backends/c/source.h"

#include <fmt/format.h>

namespace qc {

std::string Source::definition(const Instance& instance) const {
  const Call& call = instance.call;
  const Signature& kernel = *call.kernel;
  std::string declared = instance.varies  ? "int64_t n"
                         : instance.local ? std::string()
                                          : fmt::format("const {} *p", kernel.params);
  std::string passed = instance.local ? "&p" : "p";
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
  std::string out = fmt::format("static QC_NOINLINE void {}({}) {{\n", instance.function, declared);
  if (instance.local)
    out += fmt::format("  const {} p = {{{}}};\n", kernel.params, instance.values);
  return out + fmt::format("  {}({});\n}}\n\n", call.body->symbol, passed);
}

std::string Source::invocation(const Step&, const Instance& instance, const std::string& params,
                               const std::string& args) const {
  std::string first = instance.varies ? "n" : params.empty() ? "" : "&" + params;
  if (!first.empty() && !args.empty()) first += ", ";
  return instance.function + "(" + first + args + ")";
}

std::string Source::copy(const Step&, const std::string&, const std::string&, int64_t, bool) const {
  QC_CHECK(false, "standalone C has one memory: nothing is copied between two");
  return {};
}

}  // namespace qc
