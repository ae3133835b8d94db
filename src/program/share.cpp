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
      const Place root = program.resolve(Place{b.alias_of, b.alias_offset.value()});
      b.alias_of = root.buffer;
      b.alias_offset = root.offset;
    }
  }
  Place find(const View& view) {
    if (program_.buffer(view.buffer).alias_of < 0) return {view.buffer, view.offset.value()};
    const Place root = find_root(view.buffer);
    return {root.buffer, root.offset + view.offset.value()};
  }
  void merge(int buffer, Place into) {
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
  Place find_root(int buffer) {
    std::vector<int> path;
    int at = buffer;
    while (program_.buffers[static_cast<size_t>(at)].alias_of >= 0) {
      path.push_back(at);
      at = program_.buffers[static_cast<size_t>(at)].alias_of;
    }
    // From the root outward, so that each step adds one already absolute offset.
    int64_t offset = 0;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      Buffer& b = program_.buffers[static_cast<size_t>(*it)];
      offset += b.alias_offset.value();
      b.alias_of = at;
      b.alias_offset = offset;
    }
    return {at, offset};
  }
  Program& program_;
};

/// Every step in the order it is written, control flow before its bodies.
std::vector<const Step*> flat(const Program& program) {
  std::vector<const Step*> out;
  for_each_step(program.steps, [&](const Step& step) { out.push_back(&step); });
  return out;
}

bool straight_line(const Program& program) {
  return std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& s) { return s.call() != nullptr; });
}

/// Bytes that a call of the kernel `copy` copies; none for other steps.
std::optional<int64_t> copied(const Step& step) {
  const Call* call = step.call();
  if (!call || call->kernel->name != "copy") return std::nullopt;
  return call->integer("bytes");
}

bool is_copy(const Step& step) { return copied(step).has_value(); }

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
    const Place from = program_.resolve(call.in[0]), to = program_.resolve(call.out[0]);
    const Buffer& source = program_.buffer(from.buffer);
    const int64_t bytes = *copied(program_.steps[t]);
    if (from.offset != 0 || source.size() != bytes || (to.offset % source.align) != 0) return false;
    const auto& reads = accesses_[static_cast<size_t>(from.buffer)];
    if (reads.empty() || !reads.front().write) return false;
    const int first = reads.front().time, last = reads.back().time;
    // Nobody else may touch the destination range while the source is alive, and the source must
    // not be written after the copy.
    for (const Access& a : reads) {
      if (a.write && a.time > static_cast<int>(t)) return false;
    }
    for (const Access& a : accesses_[static_cast<size_t>(to.buffer)]) {
      const bool overlaps = a.begin < to.offset + bytes && a.end > to.offset;
      if (!overlaps || a.time == static_cast<int>(t)) continue;
      if (a.time >= first && (a.time < static_cast<int>(t) || (a.write && a.time <= last)))
        return false;
    }
    return true;
  }

  Merger merger;

 private:
  struct Access {
    int time;
    int64_t begin, end;
    bool write;
  };
  void note(const View& view, int time, bool write) {
    const int64_t bytes = copied(program_.steps[static_cast<size_t>(time)])
                              .value_or(program_.buffer(view.buffer).size() - view.offset.value());
    const Place root = program_.resolve(view);
    accesses_[static_cast<size_t>(root.buffer)].push_back(
        {time, root.offset, root.offset + bytes, write});
  }

  Program& program_;
  std::vector<std::vector<Access>> accesses_;  // by storage, in order
};

}  // namespace

void elide_copies(std::span<Program> programs) {
  const Program& model = programs.back();
  if (!straight_line(model) || std::none_of(model.steps.begin(), model.steps.end(), is_copy))
    return;
  std::vector<Copies> copies(programs.begin(), programs.end());
  std::vector<bool> drop(model.steps.size(), false);
  std::vector<bool> moved(model.buffers.size(), false), host(model.buffers.size(), false);
  for (size_t t = 0; t < model.steps.size(); ++t) {
    if (!is_copy(model.steps[t])) continue;
    const Call& call = *model.steps[t].call();
    const int from = model.resolve(call.in[0]).buffer, to = model.resolve(call.out[0]).buffer;
    const auto f = static_cast<size_t>(from), h = static_cast<size_t>(to);
    const BufferKind target = model.buffers[h].kind;
    if (model.buffers[f].kind != BufferKind::arena || f == h || moved[f] || host[f] || moved[h])
      continue;
    if (target != BufferKind::arena && target != BufferKind::output) continue;
    if (!std::all_of(copies.begin(), copies.end(),
                     [&](const Copies& c) { return c.can_vanish(t); }))
      continue;
    for (size_t p = 0; p < programs.size(); ++p)
      copies[p].merger.merge(from, programs[p].resolve(programs[p].steps[t].call()->out[0]));
    moved[f] = host[h] = true;
    drop[t] = true;
  }
  for (size_t p = 0; p < programs.size(); ++p) {
    copies[p].merger.flatten();
    Steps kept;
    for (size_t t = 0; t < drop.size(); ++t) {
      if (!drop[t]) kept.push_back(std::move(programs[p].steps[t]));
    }
    programs[p].steps = std::move(kept);
  }
}

void share_in_place(std::span<Program> programs) {
  Program& model = programs.back();
  Liveness live = liveness(model);
  std::vector<Merger> mergers(programs.begin(), programs.end());
  std::vector<std::vector<const Step*>> steps_of;
  for (const Program& p : programs) steps_of.push_back(flat(p));
  int time = 0;
  size_t at = 0;  // the step among all
  auto range = [&](int buffer) -> LiveRange& { return live.ranges[static_cast<size_t>(buffer)]; };
  // Whether operand i and result o of this step can share in each program: with the operand's
  // storage inside the result's, or the other way round.
  auto everywhere = [&](size_t step, int i, int o, bool whole) {
    for (size_t p = 0; p < programs.size(); ++p) {
      const Call& call = *steps_of[p][step]->call();
      const Place in = mergers[p].find(call.in[static_cast<size_t>(i)]);
      const Place out = mergers[p].find(call.out[static_cast<size_t>(o)]);
      const Buffer& source = programs[p].buffer(in.buffer);
      const Buffer& target = programs[p].buffer(out.buffer);
      if (out.offset != 0) return false;
      if (whole ? in.offset != 0 || source.size() != target.size()
                : in.offset % target.align != 0 || in.offset + target.size() > source.size())
        return false;
    }
    return true;
  };
  auto visit = [&](auto&& self, const Steps& steps) -> void {
    for (const Step& step : steps) {
      const size_t here = at++;
      if (const BranchStep* branch = step.branch()) {
        ++time;
        self(self, branch->body);
        self(self, branch->otherwise);
        ++time;
        continue;
      }
      if (const LoopStep* loop = step.loop()) {
        ++time;
        self(self, loop->body);
        ++time;
        continue;
      }
      const int now = time++;
      const Call* call = step.call();
      if (!call) continue;
      for (auto [i, o] : call->in_place) {
        const View& in_view = call->in[static_cast<size_t>(i)];
        if (!in_view.present()) continue;
        const Place in = mergers.back().find(in_view);
        const Place out = mergers.back().find(call->out[static_cast<size_t>(o)]);
        const BufferKind target = model.buffer(out.buffer).kind;
        if (in.buffer == out.buffer || model.buffer(in.buffer).kind != BufferKind::arena) continue;
        if (target != BufferKind::arena && target != BufferKind::output) continue;
        if (range(in.buffer).last != now || range(out.buffer).first != now) continue;
        bool read_twice = false;
        for (size_t k = 0; k < call->in.size(); ++k) {
          if (static_cast<int>(k) == i || !call->in[k].present()) continue;
          read_twice = read_twice || mergers.back().find(call->in[k]).buffer == in.buffer;
        }
        if (read_twice) continue;
        const bool whole = everywhere(here, i, o, true);
        if (!whole && (target != BufferKind::arena || !everywhere(here, i, o, false))) continue;
        for (size_t p = 0; p < programs.size(); ++p) {
          const Place within =
              mergers[p].find(steps_of[p][here]->call()->in[static_cast<size_t>(i)]);
          if (whole)
            mergers[p].merge(in.buffer, {out.buffer, 0});
          else
            mergers[p].merge(out.buffer, within);
        }
        if (whole)
          range(out.buffer).first = range(in.buffer).first;
        else
          range(in.buffer).last = range(out.buffer).last;
        break;
      }
    }
  };
  visit(visit, model.steps);
  for (Merger& merger : mergers) merger.flatten();
}

}  // namespace qc
