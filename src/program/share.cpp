#include "program/share.h"

#include <algorithm>
#include <optional>

#include "program/liveness.h"

namespace qc {
namespace {

/// Storage merges with path compression, so that chains of any length stay cheap.
class Merger {
 public:
  explicit Merger(Program& program) : program_(program) {
    for (Buffer& b : program.buffers) {
      if (b.alias_of < 0) continue;
      const BufferOffset root = program.resolve(BufferOffset{b.alias_of, b.alias_offset});
      b.alias_of = root.buffer;
      b.alias_offset = root.offset;
    }
  }
  BufferOffset find(const View& view) {
    if (program_.buffer(view.buffer).alias_of < 0) return {view.buffer, view.offset};
    const BufferOffset root = find_root(view.buffer);
    return {root.buffer, root.offset + view.offset};
  }
  void merge(int buffer, BufferOffset into) {
    Buffer& b = program_.buffers[static_cast<size_t>(buffer)];
    b.alias_of = into.buffer;
    b.alias_offset = into.offset;
  }
  void flatten() {
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].alias_of >= 0) find_root(static_cast<int>(i));
    }
  }

 private:
  BufferOffset find_root(int buffer) {
    std::vector<int> path;
    int at = buffer;
    while (program_.buffers[static_cast<size_t>(at)].alias_of >= 0) {
      path.push_back(at);
      at = program_.buffers[static_cast<size_t>(at)].alias_of;
    }
    // From the root outward, so that each step adds one already absolute offset.
    Dim offset = 0;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      Buffer& b = program_.buffers[static_cast<size_t>(*it)];
      offset = offset + b.alias_offset;
      b.alias_of = at;
      b.alias_offset = offset;
    }
    return {at, offset};
  }
  Program& program_;
};

bool straight_line(const Program& program) {
  return std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& s) { return s.call() != nullptr; });
}

/// Bytes that a step copies, if it does nothing else; none for other steps.
std::optional<Dim> copied(const Step& step) {
  const Call* call = step.call();
  const Meaning* copy = call ? call->means(Meaning::Kind::copy) : nullptr;
  if (!copy) return std::nullopt;
  return call->size(copy->members[0]);
}

bool is_copy(const Step& step) { return copied(step).has_value(); }

/// Whether an offset is a multiple of an alignment, whatever the free dimensions are.
bool is_aligned(const Dim& offset, int64_t align) { return mod(offset, align) == 0; }

/// Copies of one program that may vanish.
class Copies {
 public:
  explicit Copies(Program& program)
      : merger(program), program_(program), accesses_(program.buffers.size()) {
    for (size_t t = 0; t < program.steps.size(); ++t) {
      for_each_view(program.steps[t],
                    [&](const View& v, bool write) { note(v, static_cast<int>(t), write); });
    }
  }

  /// Whether the source of copy `t` is all of a buffer that can live where the copy would go.
  bool can_vanish(size_t t) const {
    const Call& call = *program_.steps[t].call();
    const BufferOffset from = program_.resolve(call.in[0]), to = program_.resolve(call.out[0]);
    const Buffer& source = program_.buffer(from.buffer);
    const Dim bytes = *copied(program_.steps[t]);
    if (!(from.offset == 0) || !(source.bytes == bytes) || !is_aligned(to.offset, source.align))
      return false;
    const auto& reads = accesses_[static_cast<size_t>(from.buffer)];
    if (reads.empty() || !reads.front().write) return false;
    const int first = reads.front().time, last = reads.back().time;
    // Nobody else may touch the destination range while the source is alive, and the source must
    // not be written after the copy.
    for (const Access& a : reads) {
      if (a.write && a.time > static_cast<int>(t)) return false;
    }
    for (const Access& a : accesses_[static_cast<size_t>(to.buffer)]) {
      const bool apart =
          program_.at_least(a.begin, to.offset + bytes) || program_.at_least(to.offset, a.end);
      if (apart || a.time == static_cast<int>(t)) continue;
      if (a.time >= first && (a.time < static_cast<int>(t) || (a.write && a.time <= last)))
        return false;
    }
    return true;
  }

  Merger merger;

 private:
  struct Access {
    int time;
    Dim begin, end;
    bool write;
  };
  void note(const View& view, int time, bool write) {
    const Dim bytes = copied(program_.steps[static_cast<size_t>(time)])
                          .value_or(program_.buffer(view.buffer).bytes - view.offset);
    const BufferOffset root = program_.resolve(view);
    accesses_[static_cast<size_t>(root.buffer)].push_back(
        {time, root.offset, root.offset + bytes, write});
  }

  Program& program_;
  std::vector<std::vector<Access>> accesses_;  // by storage, in order
};

}  // namespace

void elide_copies(Program& program) {
  if (!straight_line(program) || std::none_of(program.steps.begin(), program.steps.end(), is_copy))
    return;
  Copies copies(program);
  std::vector<bool> drop(program.steps.size(), false);
  std::vector<bool> moved(program.buffers.size(), false), host(program.buffers.size(), false);
  for (size_t t = 0; t < program.steps.size(); ++t) {
    if (!is_copy(program.steps[t])) continue;
    const Call& call = *program.steps[t].call();
    const BufferOffset to = program.resolve(call.out[0]);
    const int from = program.resolve(call.in[0]).buffer;
    const auto f = static_cast<size_t>(from), h = static_cast<size_t>(to.buffer);
    const BufferKind target = program.buffers[h].kind;
    if (program.buffers[f].kind != BufferKind::arena || f == h || moved[f] || host[f] || moved[h])
      continue;
    if (target != BufferKind::arena && target != BufferKind::output) continue;
    if (!copies.can_vanish(t)) continue;
    copies.merger.merge(from, to);
    moved[f] = host[h] = true;
    drop[t] = true;
  }
  copies.merger.flatten();
  Steps retained;
  for (size_t t = 0; t < drop.size(); ++t) {
    if (!drop[t]) retained.push_back(std::move(program.steps[t]));
  }
  program.steps = std::move(retained);
}

namespace {

/// Finds results that can lie where an operand does.
class InPlace {
 public:
  explicit InPlace(Program& program)
      : program_(program), live_(liveness(program)), merger_(program) {}

  void run() {
    visit(program_.steps);
    merger_.flatten();
  }

 private:
  LiveRange& range(int buffer) { return live_.ranges[static_cast<size_t>(buffer)]; }

  void visit(const Steps& steps) {
    for (const Step& step : steps) {
      const BranchStep* branch = step.branch();
      const LoopStep* loop = step.loop();
      const int now = time_++;
      if (branch) {
        visit(branch->body);
        visit(branch->otherwise);
        ++time_;
      } else if (loop) {
        visit(loop->body);
        ++time_;
      } else if (const Call* call = step.call()) {
        share(*call, now);
      }
    }
  }

  /// Whether operand i is read by another name too.
  bool is_read_twice(const Call& call, int i, int buffer) {
    for (size_t k = 0; k < call.in.size(); ++k) {
      if (static_cast<int>(k) == i || !call.in[k].present()) continue;
      if (merger_.find(call.in[k]).buffer == buffer) return true;
    }
    return false;
  }

  void share(const Call& call, int now) {
    for (auto [i, o] : call.in_place) {
      if (!call.in[static_cast<size_t>(i)].present()) continue;
      const BufferOffset in = merger_.find(call.in[static_cast<size_t>(i)]);
      const BufferOffset out = merger_.find(call.out[static_cast<size_t>(o)]);
      const Buffer &source = program_.buffer(in.buffer), &target = program_.buffer(out.buffer);
      if (in.buffer == out.buffer || source.kind != BufferKind::arena) continue;
      if (target.kind != BufferKind::arena && target.kind != BufferKind::output) continue;
      if (range(in.buffer).last != now || range(out.buffer).first != now) continue;
      if (!(out.offset == 0) || is_read_twice(call, i, in.buffer)) continue;
      if (in.offset == 0 && source.bytes == target.bytes) {
        merger_.merge(in.buffer, {out.buffer, 0});
        range(out.buffer).first = range(in.buffer).first;
        return;
      }
      const bool inside = target.kind == BufferKind::arena && is_aligned(in.offset, target.align) &&
                          program_.at_least(source.bytes, in.offset + target.bytes);
      if (!inside) continue;
      merger_.merge(out.buffer, in);
      range(in.buffer).last = range(out.buffer).last;
      return;
    }
  }

  Program& program_;
  Liveness live_;
  Merger merger_;
  int time_ = 0;
};

}  // namespace

void share_in_place(Program& program) { InPlace(program).run(); }

}  // namespace qc
