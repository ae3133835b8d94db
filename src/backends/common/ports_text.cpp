#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/common/text.h"
#include "ir/guard_text.h"

namespace qc {
namespace {

/// "[dims[0], 2 * dims[1]]": a shape as programs that read headers can compute it.
std::string sizes_of_run(const Dims& shape, const Program& program) {
  const Dim::Notation notation = {
      [&](const std::string& symbol) {
        const auto at = std::ranges::find(program.dims, symbol, &FreeDim::name);
        return fmt::format("dims[{}]", at - program.dims.begin());
      },
      [](std::string_view function, const std::string& a, const std::string& b) {
        return fmt::format("{}({}, {})", function, a, b);
      }};
  std::vector<std::string> out;
  for (const Dim& d : shape) out.push_back(d.str(notation));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string ports(const char* kind, const std::vector<Port>& list, const std::string& upper,
                  const Program& program) {
  std::string out = fmt::format("#define {}_{}S {}\n", upper, kind, list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const Type& type = list[i].type;
    const int64_t elements = program.largest(product(type.shape));
    std::string shape;
    for (const Dim& d : type.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(program.largest(d));
    out += fmt::format(
        "#define {0}_{1}_{2}_NAME {3}\n#define {0}_{1}_{2}_TYPE {4} /* {5} */\n"
        "#define {0}_{1}_{2}_RANK {6}\n#define {0}_{1}_{2}_SHAPE {{{7}}}\n"
        "#define {0}_{1}_{2}_ELEMENTS {8}\n#define {0}_{1}_{2}_BYTES {9}\n",
        upper, kind, i, c_string(list[i].name), c_type(type.dtype), name(type.dtype), type.rank(),
        shape.empty() ? "1" : shape, elements, elements * static_cast<int64_t>(bytes(type.dtype)));
    if (!all_static(type.shape)) {
      out += fmt::format("/* The largest: its shape is {}. */\n#define {}_{}_{}_SIZES \"{}\"\n",
                         c_comment(str(type.shape)), upper, kind, i,
                         sizes_of_run(type.shape, program));
    }
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

std::string dims_text(const Program& program, const ProjectOptions& options) {
  const std::string upper = c_upper(options.name);
  std::string out;
  if (!program.dims.empty()) {
    out =
        "/* Dimensions whose sizes each run chooses. Shapes, bytes and counts here are those of "
        "the "
        "largest. */\n";
  }
  out += fmt::format("#define {}_DIMS {}\n", upper, program.dims.size());
  for (size_t i = 0; i < program.dims.size(); ++i) {
    const FreeDim& d = program.dims[i];
    out += fmt::format(
        "#define {0}_DIM_{1}_NAME {2}\n#define {0}_DIM_{1}_MIN {3}\n#define {0}_DIM_{1}_MAX {4}\n",
        upper, i, c_string(d.name), d.min, d.max);
    if (d.step > 1) out += fmt::format("#define {}_DIM_{}_STEP {}\n", upper, i, d.step);
  }
  for (const DimGuard& guard : program.guards)
    out += fmt::format("/* The model holds only where {}. */\n", c_comment(words(guard)));
  return out + "\n";
}

std::string ports_text(const Program& program, const ProjectOptions& options) {
  const std::string upper = c_upper(options.name);
  return ports("INPUT", program.inputs, upper, program) +
         ports("OUTPUT", program.outputs, upper, program);
}

}  // namespace qc
