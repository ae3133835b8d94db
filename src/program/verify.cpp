#include <algorithm>
#include <string>

#include "kernels/kernels.h"
#include "program/liveness.h"
#include "program/program.h"

namespace qc {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  Result<Ok> run() {
    QC_TRY(buffers());
    QC_TRY(ports(program_.inputs, BufferKind::input, "input"));
    QC_TRY(ports(program_.outputs, BufferKind::output, "output"));
    QC_TRY(ports(program_.states, BufferKind::state, "state"));
    QC_TRY(steps(program_.steps));
    return placement();
  }

 private:
  int count() const { return static_cast<int>(program_.buffers.size()); }

  Result<Ok> buffers() const {
    for (int i = 0; i < count(); ++i) {
      const Buffer& b = program_.buffers[static_cast<size_t>(i)];
      if (b.bytes < 0 || b.align <= 0) return error(Code::bug, "buffer {} has no valid size", i);
      int hops = 0;
      for (int at = i; program_.buffers[static_cast<size_t>(at)].alias_of >= 0; ++hops) {
        at = program_.buffers[static_cast<size_t>(at)].alias_of;
        if (at >= count() || hops > count())
          return error(Code::bug, "buffer {} has a broken alias", i);
      }
      if (b.alias_of < 0) continue;
      const View root = program_.resolve(View{i, 0});
      if (root.offset < 0 ||
          root.offset + b.bytes > program_.buffers[static_cast<size_t>(root.buffer)].bytes) {
        return error(Code::bug, "buffer {} lies outside the buffer it is a view of", i);
      }
    }
    return Ok{};
  }

  Result<Ok> ports(const std::vector<Port>& list, BufferKind kind, const char* what) const {
    for (const Port& p : list) {
      if (p.buffer < 0 || p.buffer >= count() ||
          program_.buffers[static_cast<size_t>(p.buffer)].kind != kind) {
        return error(Code::bug, "{} '{}' has no buffer", what, p.name);
      }
    }
    return Ok{};
  }

  Result<Ok> view(View v, const Step& step, bool written) const {
    if (v.buffer == -1) return Ok{};
    if (v.buffer < 0 || v.buffer >= count())
      return error(Code::bug, step.loc, "'{}' names no buffer", step.kernel.str());
    const Buffer& b = program_.buffers[static_cast<size_t>(v.buffer)];
    if (v.offset < 0 || v.offset > b.bytes)
      return error(Code::bug, step.loc, "'{}' starts outside a buffer", step.kernel.str());
    const BufferKind kind = program_.buffers[static_cast<size_t>(program_.resolve(v).buffer)].kind;
    if (written && (kind == BufferKind::constant || kind == BufferKind::input)) {
      return error(Code::bug, step.loc, "'{}' writes to an input or a constant", step.kernel.str());
    }
    return Ok{};
  }

  Result<Ok> steps(const Steps& list) const {
    for (const Step& s : list) {
      if (s.kind == Step::Kind::call) {
        const qk_entry* kernel = find_kernel(s.kernel);
        if (!kernel) return error(Code::bug, s.loc, "there is no kernel '{}'", s.kernel.str());
        if (static_cast<int>(s.in.size()) != kernel->inputs ||
            static_cast<int>(s.out.size()) != kernel->outputs ||
            s.params.size() * 4 != kernel->params_size) {
          return error(Code::bug, s.loc, "'{}' is called with the wrong arguments", s.kernel.str());
        }
        for (auto [i, o] : s.in_place) {
          if (i < 0 || o < 0 || i >= kernel->inputs || o >= kernel->outputs) {
            return error(Code::bug, s.loc, "'{}' shares arguments it does not have",
                         s.kernel.str());
          }
        }
      }
      for (View v : s.in) QC_TRY(view(v, s, false));
      for (View v : s.out) QC_TRY(view(v, s, true));
      for (View v : {s.condition, s.limit}) QC_TRY(view(v, s, false));
      QC_TRY(view(s.counter, s, true));
      QC_TRY(steps(s.body));
      QC_TRY(steps(s.otherwise));
    }
    return Ok{};
  }

  /// No two buffers alive together overlap; a program without places is fine.
  Result<Ok> placement() const {
    const Liveness live = liveness(program_);
    std::vector<int> placed;
    for (int i = 0; i < count(); ++i) {
      const Buffer& b = program_.buffers[static_cast<size_t>(i)];
      if (b.kind != BufferKind::arena || b.alias_of >= 0 ||
          live.ranges[static_cast<size_t>(i)].empty())
        continue;
      if (b.offset < 0) return Ok{};
      if (b.offset + b.bytes > program_.arena_bytes)
        return error(Code::bug, "buffer {} lies outside the arena", i);
      placed.push_back(i);
    }
    std::sort(placed.begin(), placed.end(), [&](int a, int b) {
      return live.ranges[static_cast<size_t>(a)].first < live.ranges[static_cast<size_t>(b)].first;
    });
    std::vector<int> active;
    for (int i : placed) {
      const LiveRange& r = live.ranges[static_cast<size_t>(i)];
      const Buffer& b = program_.buffers[static_cast<size_t>(i)];
      std::erase_if(active,
                    [&](int j) { return live.ranges[static_cast<size_t>(j)].last < r.first; });
      for (int j : active) {
        const Buffer& c = program_.buffers[static_cast<size_t>(j)];
        if (b.offset < c.offset + c.bytes && c.offset < b.offset + b.bytes) {
          return error(Code::bug, "buffers {} and {} are alive together and overlap", i, j);
        }
      }
      active.push_back(i);
    }
    return Ok{};
  }

  const Program& program_;
};

}  // namespace

Result<Ok> verify(const Program& program) { return Verifier(program).run(); }

}  // namespace qc
