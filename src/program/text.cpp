// The text form of programs. One line per buffer and per step:
//   input %0 "x" : f32[1, 8]              a port: what the caller gives or gets
//   %3 arena 256 @ 64 "relu"              a buffer: kind, bytes, place in the arena, name
//   %4 = %3 + 128, 64 "part"              a view of another buffer: offset, bytes
//   clamp[f32](x=%1:f32[8]) {n = 8, hi = 6.0} -> (y=%3:f32[8]) : qk_clamp_f32
//                                         a call: kernel and selectors, operands, parameters that
//                                         are not 0, results, and the body that computes it;
//                                         a parameter that is a struct is such a list itself
//   qgemm(x=%1:.., w=%2:..) {m = 1, ..} | rescale(multipliers=%4:..) {..} | add(residual=%5:..)
//   {..} -> (..)
//                                         one with stages of its epilogue
// `%3 + 16` is a part, `%3:f32[4, 2]<1, 8>` one with strides.
// Numbers that depend on symbols stand in brackets: `%3 + [4*n]`.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text_reader.h"
#include "program/params.h"
#include "program/program.h"
#include "program/size_conditions.h"
#include "support/escape.h"

namespace qc {
namespace {

constexpr const char* kKinds[] = {"arena", "input", "output", "constant", "state"};

std::string number(const Dim& d) { return d.is_static() ? d.str() : "[" + d.str() + "]"; }

std::string list(const Dims& dims) {
  std::string out;
  for (const Dim& d : dims) out += (out.empty() ? "" : ", ") + d.str();
  return out;
}

std::string view_text(const View& v) {
  if (!v.present()) return "_";
  std::string out = fmt::format("%{}", v.buffer);
  if (!(v.offset == Dim(0))) out += " + " + number(v.offset);
  out += ":" + std::string(name(v.dtype)) + "[" + list(v.dims) + "]";
  if (!v.strides.empty()) out += "<" + list(v.strides) + ">";
  return out;
}

std::string views_text(const std::vector<OperandSpec>& names, const std::vector<View>& views) {
  std::string out;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i].present()) continue;
    out += (out.empty() ? "" : ", ") + names[i].name + "=" + view_text(views[i]);
  }
  return "(" + out + ")";
}

std::string param_text(const Param& p) {
  const float* f = std::get_if<float>(&p);
  return f ? float_text(*f) : number(std::get<Dim>(p));
}

std::string params_text(const Signature& kernel, const std::vector<Param>& params) {
  MemberText out;
  for (const Field& f : kernel.fields) {
    const std::span<const Param> own(params.data() + f.at, static_cast<size_t>(f.count));
    if (std::all_of(own.begin(), own.end(), is_default)) continue;
    std::string values;
    for (const Param& p : own) values += (values.empty() ? "" : ", ") + param_text(p);
    out.add(f.name, f.array ? "(" + values + ")" : values);
  }
  return "{" + out.str() + "}";
}

std::string call_text(const Call& call) {
  std::string out = call.kernel->name;
  if (!call.select.empty()) out += fmt::format("[{}]", fmt::join(call.select, ", "));
  out += views_text(call.kernel->in, call.in) + " " + params_text(*call.kernel, call.params);
  for (const Stage& stage : call.epilogue) {
    out += fmt::format(" | {}{} {}{}", stage.kind->name, views_text(stage.kind->in, stage.in),
                       params_text(*stage.kind, stage.params), stage.in_place ? " in_place" : "");
  }
  out += " -> " + views_text(call.kernel->out, call.out);
  if (call.body) out += " : " + call.body->symbol;
  for (auto [i, o] : call.in_place) out += fmt::format(" in_place({}, {})", i, o);
  if (!call.facts.empty()) out += fmt::format(" facts({})", fmt::join(call.facts, ", "));
  if (call.macs) out += fmt::format(" macs({})", call.macs);
  return out;
}

std::string loc_text(const Loc& loc) {
  std::string names;
  for (const std::string& name : loc.names) names += (names.empty() ? "" : ", ") + ir_string(name);
  return names.empty() ? "" : " loc(" + names + ")";
}

void print_steps(const Steps& steps, const std::string& pad, std::string& out) {
  for (const Step& s : steps) {
    out += pad;
    if (const auto* parallel = std::get_if<ParallelStep>(&s.op)) {
      out += "parallel " + number(parallel->units) + " " + call_text(parallel->call);
    } else if (const Call* call = s.call()) {
      out += call_text(*call);
    } else if (const CopyStep* copy = s.copy()) {
      out += "copy " + view_text(copy->from) + " to " + view_text(copy->to);
    } else if (const BranchStep* branch = s.branch()) {
      const bool sizes = !branch->condition.present();
      out += "if " + (sizes ? number(by_sizes(*branch)) : view_text(branch->condition)) + " {\n";
      print_steps(branch->body, pad + "  ", out);
      out += pad + "} else {\n";
      print_steps(branch->otherwise, pad + "  ", out);
      out += pad + "}";
    } else if (const LoopStep* loop = s.loop()) {
      out += "loop while " + view_text(loop->condition) + " limit " + view_text(loop->limit) +
             " counter " + view_text(loop->counter) + " {\n";
      print_steps(loop->body, pad + "  ", out);
      out += pad + "}";
    }
    out += loc_text(s.loc) + "\n";
  }
}

std::string buffer_text(const Buffer& b) {
  if (b.alias_of >= 0) {
    return fmt::format("= %{} + {}, {} {}", b.alias_of, number(b.alias_offset), number(b.bytes),
                       ir_string(b.name));
  }
  std::string out = fmt::format("{}{} {}", b.space == Space::device ? "device " : "",
                                kKinds[static_cast<int>(b.kind)], number(b.bytes));
  if (b.kind == BufferKind::constant || b.kind == BufferKind::state)
    out += fmt::format(" #{}", b.constant);
  if (b.slot >= 0) out += fmt::format(" [{}]", b.slot);
  if (b.has_offset()) out += " @ " + number(b.offset);
  return out + " " + ir_string(b.name);
}

}  // namespace

std::string str(const Program& program) {
  std::string out = fmt::format(
      "program {} arena {} align {} state {}{}\n", ir_string(program.name), program.arena_bytes,
      program.arena_align, program.state_bytes, program.dot == DotStep::fma ? "" : " dot mul_add");
  auto ports = [&](const char* kind, const std::vector<Port>& list) {
    for (const Port& p : list)
      out += fmt::format("{} %{} {} : {}\n", kind, p.buffer, ir_string(p.name), str(p.type));
  };
  ports("input", program.inputs);
  ports("output", program.outputs);
  ports("state", program.states);
  if (program.index_record >= 0) out += fmt::format("record %{}\n", program.index_record);
  for (const FreeDim& d : program.dims)
    out += fmt::format("dim {} {} to {} step {}\n", ir_string(d.name), d.min, d.max, d.step);
  for (const DimGuard& g : program.guards) out += fmt::format("guard {}\n", ir_string(g.str()));
  for (const ArenaSymbol& p : program.arena_symbols)
    out += fmt::format("offset_symbol {} {}\n", ir_string(p.symbol), number(p.value));
  for (const Scalar& s : program.scalars) {
    out += fmt::format("scalar {} {} to {} from {}\n", ir_string(s.symbol), s.min, s.max,
                       view_text(s.source));
  }
  for (size_t i = 0; i < program.buffers.size(); ++i)
    out += fmt::format("%{} {}\n", i, buffer_text(program.buffers[i]));
  print_steps(program.steps, "", out);
  return out;
}

}  // namespace qc
