#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "program/epilogue.h"
#include "program/liveness.h"
#include "program/program.h"
#include "program/split.h"

namespace qc {
namespace {

bool has_bodies(const Signature& kernel) {
  const auto bodies = all_bodies();
  return std::any_of(bodies.begin(), bodies.end(),
                     [&](const Body& b) { return b.kernel == &kernel; });
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {
    for (const auto& [symbol, bounds] : program.symbol_bounds()) {
      largest_[symbol] = bounds.max;
      least_[symbol] = bounds.min;
    }
    largest_ = program.with_arena_symbols(std::move(largest_));
    least_ = program.with_arena_symbols(std::move(least_));
  }

  Result<Ok> run() {
    QC_TRY(buffers());
    QC_TRY(ports(program_.inputs, BufferKind::input, "input"));
    QC_TRY(ports(program_.outputs, BufferKind::output, "output"));
    QC_TRY(ports(program_.states, BufferKind::state, "state"));
    QC_TRY(record());
    QC_TRY(steps(program_.steps));
    return placement();
  }

 private:
  int count() const { return static_cast<int>(program_.buffers.size()); }

  Result<Ok> buffers() const {
    for (int i = 0; i < count(); ++i) {
      const Buffer& b = program_.buffer(i);
      if (b.align <= 0 || negative(b.bytes))
        return error(Code::bug, "buffer {} has no valid size", i);
      int hops = 0;
      for (int at = i; program_.buffer(at).alias_of >= 0; ++hops) {
        at = program_.buffer(at).alias_of;
        if (at >= count() || hops > count())
          return error(Code::bug, "buffer {} has a broken alias", i);
      }
      if (b.alias_of < 0) continue;
      const BufferOffset root = program_.resolve(BufferOffset{i, 0});
      if (negative(root.offset) ||
          negative(program_.buffer(root.buffer).bytes - root.offset - b.bytes)) {
        return error(Code::bug, "buffer {} lies outside the buffer it is a view of", i);
      }
    }
    return Ok{};
  }

  /// Below 0 for some sizes. What cannot be proved counts where it is so at the largest sizes.
  bool negative(const Dim& d) const {
    if (d.is_static()) return d.value() < 0;
    return d.substitute(largest_).is_static() && d.substitute(largest_).value() < 0;
  }

  Result<Ok> ports(const std::vector<Port>& list, BufferKind kind, const char* what) const {
    for (const Port& p : list) {
      if (p.buffer < 0 || p.buffer >= count() || program_.buffer(p.buffer).kind != kind) {
        return error(Code::bug, "{} '{}' has no buffer", what, p.name);
      }
    }
    return Ok{};
  }

  /// Two numbers in the arena.
  Result<Ok> record() const {
    const int at = program_.index_record;
    if (at < 0) return Ok{};
    if (at >= count() || program_.buffer(at).kind != BufferKind::arena ||
        program_.buffer(at).alias_of >= 0 || !(program_.buffer(at).bytes == 2 * 8))
      return error(Code::bug, "buffer {} is no record of indices", at);
    return Ok{};
  }

  Result<Ok> view(const View& v, const Loc& loc, const std::string& what, bool written) const {
    if (v.buffer < 0 || v.buffer >= count())
      return error(Code::bug, loc, "'{}' names no buffer", what);
    const Buffer& b = program_.buffer(v.buffer);
    if (!v.strides.empty() && v.strides.size() != v.dims.size())
      return error(Code::bug, loc, "'{}' has a view with {} dims and {} strides", what,
                   v.dims.size(), v.strides.size());
    const Dim end = v.offset + extent(v);
    if (negative(v.offset) || negative(b.bytes - end)) {
      return error(Code::bug, loc, "'{}' takes bytes {} to {} of a buffer of {} bytes", what,
                   v.offset.str(), end.str(), b.bytes.str());
    }
    const BufferKind kind = program_.buffer(program_.owner(v.buffer)).kind;
    if (written && (kind == BufferKind::constant || kind == BufferKind::input)) {
      return error(Code::bug, loc, "'{}' writes to an input or a constant", what);
    }
    return Ok{};
  }

  /// Operands and parameters of a call or a stage are those of its signature.
  static Result<Ok> arguments(const Signature& k, const std::vector<Param>& params,
                              const std::vector<OperandSpec>& names, const std::vector<View>& views,
                              const Loc& loc) {
    if (views.size() != names.size() || params.size() != k.numbers)
      return error(Code::bug, loc, "'{}' is called with the wrong arguments", k.name);
    for (const Field& f : k.fields) {
      for (size_t i = f.at; i < f.at + static_cast<size_t>(f.count); ++i) {
        if (std::holds_alternative<float>(params[i]) != (f.type == Field::Type::f32))
          return error(Code::bug, loc, "'{}' has another type of parameter '{}'", k.name, f.name);
      }
    }
    for (size_t i = 0; i < views.size(); ++i) {
      if (!names[i].optional && !views[i].present())
        return error(Code::bug, loc, "'{}' is called without '{}'", k.name, names[i].name);
    }
    return Ok{};
  }

  /// Stages are those of the kernel's list, in its order, and not what the call says itself.
  static Result<Ok> epilogue(const Call& c, const Loc& loc) {
    Call before = c;
    before.epilogue.clear();
    for (const Stage& stage : c.epilogue) {
      const std::string& name = stage.kind->name;
      if (!takes(before, name))
        return error(Code::bug, loc, "'{}' does not take the stage '{}' there", c.kernel->name,
                     name);
      QC_TRY(arguments(*stage.kind, stage.params, stage.kind->in, stage.in, loc));
      for (const OperandSpec& o : stage.kind->in) {
        if (c.operand(o.name).present())
          return error(Code::bug, loc, "'{}' has '{}' twice", c.kernel->name, o.name);
      }
      before.epilogue.push_back(stage);
    }
    if (c.body && !c.epilogue.empty())
      return error(Code::bug, loc, "the body of '{}' knows no stages", c.kernel->name);
    return Ok{};
  }

  /// A call has what its kernel's signature asks for.
  Result<Ok> call(const Call& c, const Loc& loc) const {
    const Signature& k = *c.kernel;
    if (c.select.size() != k.selectors.size())
      return error(Code::bug, loc, "'{}' is called with the wrong arguments", k.name);
    QC_TRY(arguments(k, c.params, k.in, c.in, loc));
    QC_TRY(arguments(k, c.params, k.out, c.out, loc));
    QC_TRY(epilogue(c, loc));
    for (auto [i, o] : c.in_place) {
      if (i < 0 || o < 0 || i >= static_cast<int>(c.in.size()) ||
          o >= static_cast<int>(c.out.size()))
        return error(Code::bug, loc, "'{}' shares arguments it does not have", k.name);
    }
    // Before kernels are selected, calls of kernels that variants bind have no body yet.
    const Body* body = find_body(k, c.select);
    if (c.body ? c.body != body : !body && has_bodies(k)) {
      return error(Code::bug, loc, "nothing computes '{}' of [{}]", k.name,
                   fmt::join(c.select, ", "));
    }
    return Ok{};
  }

  /// A parallel step has the units of its call: one where that cannot be split.
  Result<Ok> units(const ParallelStep& p, const Loc& loc) const {
    const Signature& k = *p.call.kernel;
    if (!p.call.body || (!p.call.body->units && !(p.units == 1)))
      return error(Code::bug, loc, "'{}' cannot be split", k.name);
    if (p.units == 0 || !p.units.is_static() || !is_static(p.call)) return Ok{};
    const int64_t count = units_of(p.call);
    if (p.units.value() == count) return Ok{};
    return error(Code::bug, loc, "'{}' has {} units, not {}", k.name, count, p.units.value());
  }

  Result<Ok> views(const Step& s, const std::string& what) const {
    Result<Ok> status = Ok{};
    for_each_view(s, [&](const View& v, bool written) {
      if (status.ok()) status = view(v, s.loc, what, written);
    });
    return status;
  }

  Result<Ok> step(const Step& s) const {
    const Call* c = s.call();
    if (c) QC_TRY(call(*c, s.loc));
    if (const auto* parallel = std::get_if<ParallelStep>(&s.op)) QC_TRY(units(*parallel, s.loc));
    const CopyStep* copy = s.copy();
    const std::string what = c ? c->kernel->name : copy ? "copy" : "control flow";
    QC_TRY(views(s, what));
    if (c) return one_memory(s, what);
    if (copy && !(extent(copy->from) == extent(copy->to))) {
      return error(Code::bug, s.loc, "{} bytes are copied to {}", extent(copy->from).str(),
                   extent(copy->to).str());
    }
    return Ok{};
  }

  /// Only copies see two memories.
  Result<Ok> one_memory(const Step& s, const std::string& what) const {
    std::optional<Space> first;
    bool mixed = false;
    for_each_view(s, [&](const View& v, bool) {
      const Space space = program_.buffer(program_.owner(v.buffer)).space;
      mixed = mixed || first.value_or(space) != space;
      first = space;
    });
    if (mixed) return error(Code::bug, s.loc, "'{}' takes bytes of two memories", what);
    return Ok{};
  }

  Result<Ok> steps(const Steps& list) const {
    Result<Ok> status = Ok{};
    for_each_step(list, [&](const Step& s) {
      if (status.ok()) status = step(s);
    });
    return status;
  }

  /// No two buffers alive together overlap, at the largest sizes and at the least; a program
  /// without places is fine.
  Result<Ok> placement() const {
    QC_TRY(placement(largest_));
    return program_.dims.empty() ? Ok{} : placement(least_);
  }

  Result<Ok> placement(const Bindings& sizes) const {
    struct Allocation {
      int buffer;
      LiveRange live;
      int64_t from, to;
    };
    const Liveness live = liveness(program_);
    std::vector<Allocation> allocations;
    for (int i = 0; i < count(); ++i) {
      const Buffer& b = program_.buffer(i);
      const LiveRange& range = live.ranges[static_cast<size_t>(i)];
      if (b.kind != BufferKind::arena || b.alias_of >= 0 || range.empty()) continue;
      if (!b.has_offset()) return Ok{};
      const Dim from = b.offset.substitute(sizes), bytes = b.bytes.substitute(sizes);
      if (!from.is_static() || !bytes.is_static()) return Ok{};
      allocations.push_back({i, range, from.value(), from.value() + bytes.value()});
      if (allocations.back().to > program_.arena_bytes)
        return error(Code::bug, "buffer {} lies outside the arena", i);
    }
    std::sort(allocations.begin(), allocations.end(),
              [](const Allocation& a, const Allocation& b) { return a.live.first < b.live.first; });
    std::vector<const Allocation*> active;
    for (const Allocation& p : allocations) {
      std::erase_if(active, [&](const Allocation* q) { return q->live.last < p.live.first; });
      for (const Allocation* q : active) {
        if (p.from < q->to && q->from < p.to) {
          return error(Code::bug, "buffers {} and {} are alive together and overlap", p.buffer,
                       q->buffer);
        }
      }
      active.push_back(&p);
    }
    return Ok{};
  }

  const Program& program_;
  Bindings largest_, least_;
};

}  // namespace

Result<Ok> verify(const Program& program) { return Verifier(program).run(); }

}  // namespace qc
