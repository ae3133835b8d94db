#include <fmt/format.h>

#include "backends/common/text.h"

namespace qc {
namespace {

int64_t elements(const Type& type) {
  int64_t n = 1;
  for (const Dim& d : type.shape) n *= d.value();
  return n;
}

/// `shapes`, where given, are those with the free dimension in them.
std::string ports(const char* kind, const std::vector<Port>& list, const std::string& upper,
                  const std::vector<Dims>* shapes) {
  std::string out = fmt::format("#define {}_{}S {}\n", upper, kind, list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const Type& type = list[i].type;
    std::string shape;
    for (const Dim& d : type.shape) shape += (shape.empty() ? "" : ", ") + d.str();
    out += fmt::format(
        "#define {0}_{1}_{2}_NAME {3}\n#define {0}_{1}_{2}_TYPE {4} /* {5} */\n"
        "#define {0}_{1}_{2}_RANK {6}\n#define {0}_{1}_{2}_SHAPE {{{7}}}\n"
        "#define {0}_{1}_{2}_ELEMENTS {8}\n#define {0}_{1}_{2}_BYTES {9}\n",
        upper, kind, i, c_string(list[i].name), c_type(type.dtype), name(type.dtype), type.rank(),
        shape.empty() ? "1" : shape, elements(type),
        elements(type) * static_cast<int64_t>(bytes(type.dtype)));
    if (shapes && !all_static((*shapes)[i]))
      out += fmt::format("/* The largest: its shape is {}. */\n", c_comment(str((*shapes)[i])));
    const Format* f = type.format.get();
    if (!f || f->granularity != Granularity::tensor || f->is_dynamic()) continue;
    out += fmt::format(
        "/* Codes: one of value q stands for (q - ZERO) * SCALE; values in use are LOWEST to "
        "HIGHEST. */\n"
        "#define {0}_{1}_{2}_SCALE {3}\n#define {0}_{1}_{2}_ZERO {4}\n"
        "#define {0}_{1}_{2}_LOWEST {5}\n#define {0}_{1}_{2}_HIGHEST {6}\n",
        upper, kind, i, c_float(f->scale_at()), f->zero_at(), f->qmin, f->qmax);
  }
  return out;
}

}  // namespace

std::string ports_text(const ShapeSet& shapes, const ProjectOptions& options) {
  const Program& program = shapes.largest();
  const bool family = shapes.is_free();
  const std::string upper = c_upper(options.name);
  return ports("INPUT", program.inputs, upper, family ? &shapes.inputs : nullptr) +
         ports("OUTPUT", program.outputs, upper, family ? &shapes.outputs : nullptr);
}

}  // namespace qc
