// The text form of programs. One line per buffer and per step:
//   input %0 "x" : f32[1, 8]            a port: what the caller gives or gets
//   %3 arena 256 @ 64 "relu"            a buffer: kind, bytes, place in the arena, name
//   %4 = %3 + 128, 64 "part"            a view of another buffer: offset, bytes
//   qk_clamp_f32(%1) -> (%3) {64, ...}  a call; `_` is an absent argument, `%3 + 16` a part
#include <fmt/format.h>

#include <cstring>

#include "ir/text_reader.h"
#include "kernels/kernels.h"
#include "program/program.h"
#include "support/escape.h"

namespace qc {
namespace {

constexpr const char* kKinds[] = {"arena", "input", "output", "constant", "state"};

std::string view_text(View v) {
  if (v.buffer < 0) return "_";
  return v.offset == 0 ? fmt::format("%{}", v.buffer) : fmt::format("%{} + {}", v.buffer, v.offset);
}

std::string views_text(const std::vector<View>& views) {
  std::string out;
  for (View v : views) out += (out.empty() ? "" : ", ") + view_text(v);
  return "(" + out + ")";
}

std::string params_text(const Step& step) {
  std::string out;
  size_t at = 0;
  const qk_entry* kernel = find_kernel(step.kernel);
  std::string_view fields = kernel ? kernel->fields : "";
  while (!fields.empty() && at < step.params.size()) {
    const size_t comma = fields.find(',');
    const std::string_view field = fields.substr(0, comma);
    fields = comma == std::string_view::npos ? std::string_view{} : fields.substr(comma + 1);
    std::string_view name = field.substr(2);
    size_t count = 1;
    if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
      count = static_cast<size_t>(std::atoi(std::string(name.substr(bracket + 1)).c_str()));
      name = name.substr(0, bracket);
    }
    std::string values;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t word = step.params[at++];
      float f;
      std::memcpy(&f, &word, sizeof f);
      values += (i ? ", " : "") +
                (field[0] == 'f' ? float_text(f) : std::to_string(static_cast<int32_t>(word)));
    }
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name,
                       count == 1 ? values : "[" + values + "]");
  }
  return "{" + out + "}";
}

void print_steps(const Steps& steps, const std::string& pad, std::string& out) {
  for (const Step& s : steps) {
    switch (s.kind) {
      case Step::Kind::call: {
        out += pad + s.kernel.str() + views_text(s.in) + " -> " + views_text(s.out) + " " +
               params_text(s);
        for (auto [i, o] : s.in_place) out += fmt::format(" in_place({}, {})", i, o);
        if (s.macs) out += fmt::format(" macs({})", s.macs);
        if (!s.loc.names.empty()) {
          std::string names;
          for (const std::string& name : s.loc.names)
            names += (names.empty() ? "" : ", ") + ir_string(name);
          out += " loc(" + names + ")";
        }
        out += "\n";
        break;
      }
      case Step::Kind::branch:
        out += pad + "if " + view_text(s.condition) + " {\n";
        print_steps(s.body, pad + "  ", out);
        out += pad + "} else {\n";
        print_steps(s.otherwise, pad + "  ", out);
        out += pad + "}\n";
        break;
      case Step::Kind::loop:
        out += pad + "loop while " + view_text(s.condition) + " limit " + view_text(s.limit) +
               " counter " + view_text(s.counter) + " {\n";
        print_steps(s.body, pad + "  ", out);
        out += pad + "}\n";
        break;
    }
  }
}

}  // namespace

std::string str(const Program& program) {
  std::string out = fmt::format("program {} arena {} align {} state {}\n", ir_string(program.name),
                                program.arena_bytes, program.arena_align, program.state_bytes);
  auto ports = [&](const char* kind, const std::vector<Port>& list) {
    for (const Port& p : list)
      out += fmt::format("{} %{} {} : {}\n", kind, p.buffer, ir_string(p.name), str(p.type));
  };
  ports("input", program.inputs);
  ports("output", program.outputs);
  ports("state", program.states);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.alias_of >= 0) {
      out += fmt::format("%{} = %{} + {}, {} {}\n", i, b.alias_of, b.alias_offset, b.bytes,
                         ir_string(b.name));
      continue;
    }
    out += fmt::format("%{} {} {}", i, kKinds[static_cast<int>(b.kind)], b.bytes);
    if (b.kind == BufferKind::constant || b.kind == BufferKind::state)
      out += fmt::format(" #{}", b.constant);
    if (b.slot >= 0) out += fmt::format(" [{}]", b.slot);
    if (b.offset >= 0) out += fmt::format(" @ {}", b.offset);
    out += " " + ir_string(b.name) + "\n";
  }
  print_steps(program.steps, "", out);
  return out;
}

}  // namespace qc
