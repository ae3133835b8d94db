#include "backends/common/size_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace qc {

SizeTable::SizeTable(const Program& program) : program_(program) {
  for (const ArenaSymbol& p : program.arena_symbols) sizes_.push_back(p.value);
}

std::string SizeTable::operator()(const Dim& size) {
  if (size.is_static()) return std::to_string(size.value());
  for (size_t i = 0; i < program_.arena_symbols.size(); ++i) {
    if (size == Dim::symbol(program_.arena_symbols[i].symbol)) return fmt::format("n[{}]", i);
  }
  const auto at = std::find(sizes_.begin(), sizes_.end(), size);
  const auto i = at - sizes_.begin();
  if (at == sizes_.end()) sizes_.push_back(size);
  return fmt::format("n[{}]", i);
}

std::string SizeTable::expression(const Dim& size) const {
  Dim::Notation c;
  c.symbol = [&](const std::string& symbol) {
    const auto& arena_symbols = program_.arena_symbols;
    const auto position = std::find_if(arena_symbols.begin(), arena_symbols.end(),
                                       [&](const ArenaSymbol& p) { return p.symbol == symbol; });
    if (position != arena_symbols.end())
      return fmt::format("n[{}]", position - arena_symbols.begin());
    const auto& dims = program_.dims;
    const auto at =
        std::find_if(dims.begin(), dims.end(), [&](const FreeDim& d) { return d.name == symbol; });
    QC_CHECK(at != dims.end(), "a size depends on a dimension that nobody gives");
    return fmt::format("dims[{}]", at - dims.begin());
  };
  c.apply = [](std::string_view function, const std::string& a, const std::string& b) {
    return fmt::format("qc_{}({}, {})", function, a, b);
  };
  return size.str(c);
}

std::string SizeTable::definition(const std::string& name) const {
  std::string out = fmt::format("static void {}(const int64_t *dims, int64_t *n) {{\n", name);
  for (size_t i = 0; i < sizes_.size(); ++i)
    out += fmt::format("  n[{}] = {};\n", i, expression(sizes_[i]));
  return out + "}\n\n";
}

std::string_view size_functions() {
  return "#if defined(__GNUC__)\n#define QC_MAYBE_UNUSED __attribute__((unused))\n"
         "#else\n#define QC_MAYBE_UNUSED\n#endif\n"
         "/* Quotients are rounded down; by 0 they are 0, and so is the remainder. */\n"
         "static QC_MAYBE_UNUSED int64_t qc_floordiv(int64_t a, int64_t b) {\n"
         "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"
         "static QC_MAYBE_UNUSED int64_t qc_mod(int64_t a, int64_t b) {\n"
         "  return b == 0 ? 0 : a - qc_floordiv(a, b) * b;\n}\n"
         "static QC_MAYBE_UNUSED int64_t qc_min(int64_t a, int64_t b) { return a < b ? a : b; }\n"
         "static QC_MAYBE_UNUSED int64_t qc_max(int64_t a, int64_t b) { return a > b ? a : b; "
         "}\n\n";
}

}  // namespace qc
