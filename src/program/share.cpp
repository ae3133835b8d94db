#include "program/share.h"

#include <algorithm>

#include "program/liveness.h"

namespace qc {
namespace {

/// Storage merges with path compression, so that chains of any length stay cheap.
class Merger {
 public:
  explicit Merger(Program& program) : program_(program) {
    for (Buffer& b : program.buffers) {
      if (b.alias_of < 0) continue;
      const View root = program.resolve(View{b.alias_of, b.alias_offset});
      b.alias_of = root.buffer;
      b.alias_offset = root.offset;
    }
  }
  View find(View view) {
    Buffer& b = program_.buffers[static_cast<size_t>(view.buffer)];
    if (b.alias_of < 0) return view;
    const View root = find_root(view.buffer);
    return View{root.buffer, root.offset + view.offset};
  }
  void merge(int buffer, View into) {
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
  View find_root(int buffer) {
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
      offset += b.alias_offset;
      b.alias_of = at;
      b.alias_offset = offset;
    }
    return View{at, offset};
  }
  Program& program_;
};

bool straight_line(const Program& program) {
  return std::all_of(program.steps.begin(), program.steps.end(),
                     [](const Step& s) { return s.kind == Step::Kind::call; });
}

bool is_copy(const Step& step) { return step.kernel == "qk_copy"; }

}  // namespace

void elide_copies(Program& program) {
  if (!straight_line(program)) return;
  Merger merger(program);
  if (std::none_of(program.steps.begin(), program.steps.end(), is_copy)) return;
  // First and last touch of each destination range are needed only for copies: gather accesses of
  // every storage in order.
  struct Access {
    int time;
    int64_t begin, end;
    bool write;
  };
  std::vector<std::vector<Access>> accesses(program.buffers.size());
  auto note = [&](View view, int time, bool write) {
    if (view.buffer < 0) return;
    const Step& step = program.steps[static_cast<size_t>(time)];
    const int64_t bytes =
        is_copy(step) ? static_cast<int64_t>(step.params[0])
                      : program.buffers[static_cast<size_t>(view.buffer)].bytes - view.offset;
    const View root = program.resolve(view);
    accesses[static_cast<size_t>(root.buffer)].push_back(
        {time, root.offset, root.offset + bytes, write});
  };
  for (size_t t = 0; t < program.steps.size(); ++t) {
    const Step& s = program.steps[t];
    for (View v : s.in) note(v, static_cast<int>(t), false);
    for (View v : s.out) note(v, static_cast<int>(t), true);
  }
  std::vector<bool> drop(program.steps.size(), false);
  std::vector<bool> moved(program.buffers.size(), false), host(program.buffers.size(), false);
  for (size_t t = 0; t < program.steps.size(); ++t) {
    const Step& s = program.steps[t];
    if (!is_copy(s)) continue;
    const View from = program.resolve(s.in[0]), to = program.resolve(s.out[0]);
    const Buffer& source = program.buffers[static_cast<size_t>(from.buffer)];
    const Buffer& target = program.buffers[static_cast<size_t>(to.buffer)];
    const int64_t bytes = static_cast<int64_t>(s.params[0]);
    if (source.kind != BufferKind::arena || from.offset != 0 || source.bytes != bytes) continue;
    if (target.kind != BufferKind::arena && target.kind != BufferKind::output) continue;
    const size_t f = static_cast<size_t>(from.buffer), h = static_cast<size_t>(to.buffer);
    if (f == h || moved[f] || host[f] || moved[h] || (to.offset % source.align) != 0) continue;
    const auto& reads = accesses[static_cast<size_t>(from.buffer)];
    if (reads.empty() || !reads.front().write) continue;
    const int first = reads.front().time, last = reads.back().time;
    // Nobody else may touch the destination range while the source is alive, and the source must
    // not be written after the copy.
    bool clear = true;
    for (const Access& a : reads) clear = clear && !(a.write && a.time > static_cast<int>(t));
    for (const Access& a : accesses[static_cast<size_t>(to.buffer)]) {
      const bool overlaps = a.begin < to.offset + bytes && a.end > to.offset;
      if (!overlaps || a.time == static_cast<int>(t)) continue;
      if (a.time >= first && (a.time < static_cast<int>(t) || (a.write && a.time <= last)))
        clear = false;
    }
    if (!clear) continue;
    merger.merge(from.buffer, to);
    moved[f] = host[h] = true;
    drop[t] = true;
  }
  merger.flatten();
  Steps kept;
  for (size_t t = 0; t < program.steps.size(); ++t) {
    if (!drop[t]) kept.push_back(std::move(program.steps[t]));
  }
  program.steps = std::move(kept);
}

void share_in_place(Program& program) {
  Liveness live = liveness(program);
  Merger merger(program);
  int time = 0;
  auto range = [&](int buffer) -> LiveRange& { return live.ranges[static_cast<size_t>(buffer)]; };
  auto visit = [&](auto&& self, Steps& steps) -> void {
    for (Step& step : steps) {
      if (step.kind != Step::Kind::call) {
        ++time;
        self(self, step.body);
        self(self, step.otherwise);
        ++time;
        continue;
      }
      const int now = time++;
      for (auto [i, o] : step.in_place) {
        const View out_view = step.out[static_cast<size_t>(o)];
        const View in_view = step.in[static_cast<size_t>(i)];
        if (in_view.buffer < 0) continue;
        const View in = merger.find(in_view), out = merger.find(out_view);
        const Buffer& source = program.buffers[static_cast<size_t>(in.buffer)];
        const Buffer& target = program.buffers[static_cast<size_t>(out.buffer)];
        if (in.buffer == out.buffer || source.kind != BufferKind::arena || out.offset != 0)
          continue;
        if (target.kind != BufferKind::arena && target.kind != BufferKind::output) continue;
        if (range(in.buffer).last != now || range(out.buffer).first != now) continue;
        bool read_twice = false;
        for (size_t k = 0; k < step.in.size(); ++k) {
          if (static_cast<int>(k) == i || step.in[k].buffer < 0) continue;
          read_twice = read_twice || merger.find(step.in[k]).buffer == in.buffer;
        }
        if (read_twice) continue;
        if (in.offset == 0 && source.bytes == target.bytes) {
          merger.merge(in.buffer, View{out.buffer, 0});
          range(out.buffer).first = range(in.buffer).first;
        } else if (target.kind == BufferKind::arena && in.offset % target.align == 0 &&
                   in.offset + target.bytes <= source.bytes) {
          merger.merge(out.buffer, in);
          range(in.buffer).last = range(out.buffer).last;
        } else {
          continue;
        }
        break;
      }
    }
  };
  visit(visit, program.steps);
  merger.flatten();
}

}  // namespace qc
