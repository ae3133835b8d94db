// Program: what is left of a graph when every decision is made: buffers and steps. The planner, the
// size report, the printers and the in-process runner read nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/constant.h"
#include "ir/dot.h"
#include "ir/guard.h"
#include "ir/type.h"
#include "kernels/kernels.h"
#include "support/diag.h"

namespace qc {

enum class BufferKind : uint8_t {
  arena,     // lives in the arena from its first writer to its last reader
  input,     // the caller's
  output,    // the caller's
  constant,  // weights
  state,     // persistent region, kept between runs
};

/// Which memory bytes lie in. Each space has an arena of its own.
enum class Space : uint8_t { host, device };

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::arena;
  Space space = Space::host;
  Dim bytes;
  int64_t align = 64;
  /// Storage is a part of another buffer (a view); such a buffer has no place of its own.
  int alias_of = -1;
  Dim alias_offset = {};
  ConstId constant = 0;  // kind constant
  int slot = -1;         // index among inputs, outputs or states
  Dim offset = -1;       // place in the arena or the state region, set by the plan

  int64_t size() const { return bytes.value(); }
  bool has_offset() const { return !offset.is_static() || offset.value() >= 0; }
};

/// Elements of a buffer that a step reads or writes: dims in the order the bytes lie.
struct View {
  int buffer = -1;  // negative: absent
  Dim offset;       // bytes
  DType dtype = DType::u8;
  Dims dims;
  Dims strides;  // in elements; none: dense

  bool present() const { return buffer >= 0; }
  bool operator==(const View&) const = default;
};

/// `offset` bytes further on, as elements of these dims.
View part(const View& view, const Dim& offset, Dims dims);
/// Bytes from the first element to the end of the last.
Dim extent(const View& view);

/// A byte of a buffer that owns its storage.
struct BufferOffset {
  int buffer = -1;
  Dim offset;
  bool operator==(const BufferOffset&) const = default;
};

/// A number among a call's parameters: integers may depend on free dimensions and on scalars.
using Param = std::variant<Dim, float>;

/// What a kernel does with a result before it stores it.
struct Stage {
  const Signature* kind = nullptr;
  std::vector<Param> params;
  std::vector<View> in;
  bool in_place = false;  // the result may overwrite the first operand

  bool operator==(const Stage&) const = default;
};

/// A kernel call. Operands, results and parameters stand in the order of the kernel's signature.
struct Call {
  const Signature* kernel = nullptr;
  std::vector<std::string> select;            // values of the kernel's selectors
  std::vector<Param> params;                  // numbers of the parameter struct
  std::vector<View> in, out;                  // absent where the signature allows it
  std::vector<std::pair<int, int>> in_place;  // (in, out): may share storage
  /// In the order of the kernel's list. None once kernels are selected: bodies have what stages say
  /// in their own operands and parameters.
  std::vector<Stage> epilogue;
  /// What the op proved that variants may need: "narrow_x" (codes of x less their zero point fit 16
  /// bits), "one_w_zero" (all elements of w_zeros are the same).
  std::vector<std::string> facts;
  int64_t macs = 0;
  const Body* body = nullptr;  // what computes it, once kernels are selected

  bool proved(std::string_view fact) const;
  /// The operand, result or number of this name, which the kernel must have.
  const View& operand(std::string_view name) const;
  const Dim& size(std::string_view name, int at = 0) const;
  /// A number that does not depend on free dimensions.
  int64_t integer(std::string_view name, int at = 0) const { return size(name, at).value(); }
  float real(std::string_view name, int at = 0) const;
  /// Whether all of these hold; `before` is the stage that some ask for, null where there is none.
  bool meets(std::span<const Condition> conditions, const Stage* before = nullptr) const;
  /// What the call does, if it is that; null otherwise.
  const Meaning* means(Meaning::Kind kind) const;
};

struct Step;
using Steps = std::vector<Step>;

/// `body` if the bool at `condition` is set, else `otherwise`.
struct BranchStep {
  View condition;
  Steps body, otherwise;
};

/// `body` repeated while the bool at `condition` is set and fewer than `limit` trips were made;
/// `counter` (i64) holds the trip number. Each may be absent.
struct LoopStep {
  View condition, limit, counter;
  Steps body;
};

/// A call over units 0 to `units` - 1 of its kernel (Signature::unit), which write disjoint bytes:
/// the caller's threads take ranges of them in any order.
struct ParallelStep {
  Call call;
  Dim units;  // 0: as many as the kernel counts when the step runs
};

/// A copy between memory spaces.
struct CopyStep {
  View from, to;
};

struct Step {
  Loc loc;
  std::variant<Call, BranchStep, LoopStep, ParallelStep, CopyStep> op;

  /// The call of a call or of a parallel step; null for others.
  const Call* call() const;
  Call* call();
  const BranchStep* branch() const { return std::get_if<BranchStep>(&op); }
  const LoopStep* loop() const { return std::get_if<LoopStep>(&op); }
  const CopyStep* copy() const { return std::get_if<CopyStep>(&op); }
};

/// An input, output or state of the program as the caller sees it.
struct Port {
  std::string name;
  Type type;
  int buffer = -1;
};

/// A bounded number that a run reads from memory before its steps, a symbol in sizes and offsets.
struct Scalar {
  std::string symbol;
  int64_t min = 0, max = 0;
  View source;  // i64
};

/// A dimension whose size the caller says with every run: min, min + step, ... up to max.
struct FreeDim {
  std::string name;
  int64_t min = 1, max = 1, step = 1;
  bool operator==(const FreeDim&) const = default;
};

/// A place in the arena that follows the free sizes: a symbol for its offset, whose value depends
/// on them and on the places before it.
struct ArenaSymbol {
  std::string symbol;
  Dim value;
  bool operator==(const ArenaSymbol&) const = default;
};

/// Constants computed from others, by source and purpose. Programs that share one, of the same
/// graph with other sizes, share the constants.
using PackedConstants = std::map<std::pair<ConstId, std::string>, ConstId>;

class Program {
 public:
  std::string name;
  std::shared_ptr<ConstantPool> pool;
  std::vector<Buffer> buffers;
  std::vector<Port> inputs, outputs, states;  // a state's initial value is its buffer's `constant`
  std::vector<Scalar> scalars;
  std::vector<FreeDim> dims;     // symbols of sizes, offsets and parameters
  std::vector<DimGuard> guards;  // relations of them that must hold
  std::vector<ArenaSymbol> arena_symbols;
  Steps steps;
  /// Where programs that check indices note what they found (kernels/bad_index): 16 bytes at the
  /// start of the arena. Negative: indices are not checked.
  int index_record = -1;
  int64_t arena_bytes = 0;
  int64_t arena_align = 64;
  int64_t state_bytes = 0;
  DotStep dot = DotStep::fma;  // of every float dot product

  const Buffer& buffer(int i) const { return buffers[static_cast<size_t>(i)]; }
  Buffer& buffer(int i) { return buffers[static_cast<size_t>(i)]; }
  /// The buffer that owns the storage of a buffer; not to be asked of a view that is absent.
  int owner(int buffer) const;
  /// What the symbols of sizes may be.
  SymbolBounds symbol_bounds() const;
  /// Sizes with the places that follow from them.
  Bindings with_arena_symbols(Bindings sizes) const;
  /// The largest that a size can be.
  int64_t largest(const Dim& size) const {
    return size.is_static() ? size.value() : size.bounds(symbol_bounds()).max;
  }
  /// The largest bytes of every buffer.
  std::vector<int64_t> largest_sizes() const;
  /// Whether a size is at least another one, whatever the free dimensions are.
  bool at_least(const Dim& a, const Dim& b) const {
    const Dim difference = a - b;
    return (difference.is_static() ? difference.value() : difference.bounds(symbol_bounds()).min) >=
           0;
  }
  /// Where a view begins in the buffer that owns its storage.
  BufferOffset resolve(const View& view) const {
    return resolve(BufferOffset{view.buffer, view.offset});
  }
  BufferOffset resolve(BufferOffset position) const;
};

/// Calls `visit(view, written)` on every present view of a step, not on those of steps in it.
template <class F>
void for_each_view(const Step& step, F&& visit) {
  const auto each = [&](const View& v, bool written) {
    if (v.present()) visit(v, written);
  };
  if (const Call* call = step.call()) {
    for (const View& v : call->in) each(v, false);
    for (const Stage& stage : call->epilogue) {
      for (const View& v : stage.in) each(v, false);
    }
    for (const View& v : call->out) each(v, true);
  } else if (const BranchStep* branch = step.branch()) {
    each(branch->condition, false);
  } else if (const LoopStep* loop = step.loop()) {
    each(loop->condition, false);
    each(loop->limit, false);
    each(loop->counter, true);
  } else if (const CopyStep* copy = step.copy()) {
    each(copy->from, false);
    each(copy->to, true);
  }
}

/// Calls `visit` on every step, control flow before the steps in it.
template <class F>
void for_each_step(std::span<const Step> steps, F&& visit) {
  for (const Step& step : steps) {
    visit(step);
    if (const BranchStep* branch = step.branch()) {
      for_each_step(std::span<const Step>(branch->body), visit);
      for_each_step(std::span<const Step>(branch->otherwise), visit);
    } else if (const LoopStep* loop = step.loop()) {
      for_each_step(std::span<const Step>(loop->body), visit);
    }
  }
}

/// Checks every invariant: indices, sizes, calls against their signatures, views inside their
/// buffers, alias chains, no overlap of buffers alive together once planned.
Result<Ok> verify(const Program& program);

/// The text form; `parse_program(str(p))` gives the same program.
std::string str(const Program& program);

}  // namespace qc
