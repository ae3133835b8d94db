#include "program/index_record.h"

#include <fmt/format.h>

#include <set>

namespace qc {
namespace {

/// "-4 to 3", for tuples of each of their indices.
std::string range_text(const Call& call) {
  std::string out;
  for (int i = 0; i < call.integer("depth"); ++i) {
    const Dim size = call.size("sizes", i);
    out += fmt::format("{}{} to {}", i ? ", " : "", (Dim(0) - size).str(), (size - Dim(1)).str());
  }
  return out;
}

}  // namespace

std::string NumberedCheck::text() const {
  return fmt::format("layer '{}': an index is not in {}", loc.names.empty() ? "" : loc.names[0],
                     takes);
}

void take_index_record(Program& program) {
  program.index_record = program.outputs.back().buffer;
  program.outputs.pop_back();
  Buffer& record = program.buffer(program.index_record);
  record.kind = BufferKind::arena;
  record.slot = -1;
}

void pin_index_record(Program& program) {
  if (program.index_record < 0) return;
  const Dim room(program.arena_align);
  for (Buffer& b : program.buffers) {
    if (b.kind == BufferKind::arena && b.alias_of < 0 && b.has_offset()) b.offset = b.offset + room;
  }
  program.buffer(program.index_record).offset = 0;
  program.arena_bytes += program.arena_align;
}

std::vector<NumberedCheck> numbered_checks(const Program& program) {
  std::vector<NumberedCheck> out;
  std::set<int64_t> seen;  // with buckets a check stands in each
  for_each_step(program.steps, [&](const Step& step) {
    const Call* call = step.call();
    const Meaning* check = call ? call->means(Meaning::Kind::check) : nullptr;
    if (!check) return;
    const int64_t number = call->integer(check->members[0]);
    if (seen.insert(number).second) out.push_back({number, step.loc, range_text(*call)});
  });
  return out;
}

Diag index_error(const Program& program, int64_t number, int64_t index) {
  for (const NumberedCheck& check : numbered_checks(program)) {
    if (check.number == number)
      return error(Code::input, check.loc, "an index is {}, and the layer takes {}", index,
                   check.takes);
  }
  return error(Code::bug, "no check has the number {}", number);
}

}  // namespace qc
