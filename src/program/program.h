// Program: what is left of a graph when every decision is made: buffers and kernel calls. The
// planner, the size report, the printers and the in-process runner read nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/type.h"
#include "support/diag.h"

namespace qc {

enum class BufferKind : uint8_t {
  arena,     // lives in the arena from its first writer to its last reader
  input,     // the caller's
  output,    // the caller's
  constant,  // weights
  state,     // persistent region, kept between runs
};

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::arena;
  int64_t bytes = 0;
  int64_t align = 64;
  /// Storage is a part of another buffer (a view); such a buffer has no place of its own.
  int alias_of = -1;
  int64_t alias_offset = 0;
  ConstId constant = 0;  // kind constant
  int slot = -1;         // index among inputs, outputs or states
  int64_t offset = -1;   // place in the arena or the state region, set by the plan
};

/// Bytes of a buffer that a call reads or writes.
struct View {
  int buffer = -1;
  int64_t offset = 0;
  bool operator==(const View&) const = default;
};

struct Step;
using Steps = std::vector<Step>;

/// A kernel call, or control flow over further steps.
struct Step {
  enum class Kind : uint8_t { call, branch, loop };
  Kind kind = Kind::call;
  Loc loc;

  // call
  Interned kernel;
  std::vector<uint32_t> params;               // the kernel's parameter struct as 32-bit words
  std::vector<View> in, out;                  // in the order of the kernel's arguments
  std::vector<std::pair<int, int>> in_place;  // (in, out): may share storage
  int64_t macs = 0;

  // branch: `body` if the bool at `condition` is set, else `otherwise`.
  // loop: body repeated while the bool at `condition` is set and fewer than `limit` trips were
  // made; `counter` (i64) holds the trip number. Views with buffer -1 are absent.
  View condition, limit, counter;
  Steps body, otherwise;
};

/// An input, output or state of the program as the caller sees it.
struct Port {
  std::string name;
  Type type;
  int buffer = -1;
};

class Program {
 public:
  std::string name;
  std::shared_ptr<ConstantPool> pool;
  std::vector<Buffer> buffers;
  std::vector<Port> inputs, outputs, states;  // a state's initial value is its buffer's `constant`
  Steps steps;
  int64_t arena_bytes = 0;
  int64_t arena_align = 64;
  int64_t state_bytes = 0;

  /// The buffer that owns the storage, and the offset of `view` in it.
  View resolve(View view) const;
};

/// Calls `visit` on every step, control flow and its bodies included, in order.
template <class F>
void for_each_step(const Steps& steps, F&& visit) {
  for (const Step& step : steps) {
    visit(step);
    for_each_step(step.body, visit);
    for_each_step(step.otherwise, visit);
  }
}

/// Checks every invariant: indices, sizes, kernels and their argument counts, alias chains, no
/// overlap of buffers alive together once planned.
Result<Ok> verify(const Program& program);

/// The text form; `parse_program(str(p))` gives the same program.
std::string str(const Program& program);

}  // namespace qc
