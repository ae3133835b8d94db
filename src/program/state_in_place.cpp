#include "program/state_in_place.h"

#include <algorithm>
#include <optional>

namespace qc {
namespace {

/// What becomes part of a state: buffers, and copies between them that nothing is left of.
struct Found {
  int state = -1;
  std::vector<int> buffers;
  std::vector<size_t> copies;  // the last one first
};

/// How the steps of one program use its storage. A branch or a loop uses at its time what the steps
/// in it use; the calls that a state is made by stand outside of them.
class Uses {
 public:
  explicit Uses(const Program& program) : program_(program), uses_(program.buffers.size()) {
    for (size_t t = 0; t < program.steps.size(); ++t) {
      for_each_step(std::span(&program.steps[t], 1), [&](const Step& step) {
        for_each_view(step, [&](const View& v, bool write) {
          uses_[static_cast<size_t>(program.resolve(v).buffer)].push_back({t, write});
        });
      });
    }
  }

  /// What step `t` ends: a state that is made over itself and copied to its place.
  std::optional<Found> state_made_by(size_t t) const {
    const std::optional<int> source = copied(t);
    if (!source) return std::nullopt;
    Found found{program_.resolve(program_.steps[t].call()->out[0]).buffer, {}, {t}};
    if (program_.buffer(found.state).kind != BufferKind::state) return std::nullopt;
    size_t first = t;
    for (int at = *source; at != found.state;) {
      const std::vector<Use>& uses = uses_[static_cast<size_t>(at)];
      const Buffer& buffer = program_.buffer(at);
      const bool made_here = buffer.kind == BufferKind::arena && uses.front().write &&
                             buffer.space == program_.buffer(found.state).space;
      if (!made_here || (at != *source && uses.back().time != first)) return std::nullopt;
      first = uses.front().time;
      found.buffers.push_back(at);
      const std::optional<int> before = overwritten(first, at);
      if (!before) return std::nullopt;
      if (copied(first)) found.copies.push_back(first);
      at = *before;
    }
    // From the first call on the state has its new bytes: nobody may want the old ones, or change
    // the new ones after they were to be copied.
    for (const Use& use : uses_[static_cast<size_t>(found.state)]) {
      if (use.time != t && (use.write || use.time > first)) return std::nullopt;
    }
    for (const Use& use : uses_[static_cast<size_t>(*source)]) {
      if (use.write && use.time > t) return std::nullopt;
    }
    return found;
  }

 private:
  struct Use {
    size_t time;
    bool write;
  };

  bool whole(const View& view, int buffer, const Dim& bytes) const {
    const BufferOffset position = program_.resolve(view);
    return position.buffer == buffer && position.offset == 0 &&
           program_.buffer(buffer).bytes == bytes;
  }

  /// The storage that step `t` copies all of to all of another; none for other steps.
  std::optional<int> copied(size_t t) const {
    const Call* call = program_.steps[t].call();
    const Meaning* copy = call ? call->means(Meaning::Kind::copy) : nullptr;
    if (!copy) return std::nullopt;
    const Dim bytes = call->size(copy->members[0]);
    const int from = program_.resolve(call->in[0]).buffer;
    const int to = program_.resolve(call->out[0]).buffer;
    if (from == to || !whole(call->in[0], from, bytes) || !whole(call->out[0], to, bytes))
      return std::nullopt;
    return from;
  }

  /// The storage of an operand over which step `t` can write all of `result`.
  std::optional<int> overwritten(size_t t, int result) const {
    if (const std::optional<int> from = copied(t)) return from;
    const Call* call = program_.steps[t].call();
    if (!call) return std::nullopt;
    const Dim bytes = program_.buffer(result).bytes;
    for (const auto& [i, o] : call->in_place) {
      const View& operand = call->in[static_cast<size_t>(i)];
      if (!operand.present() || !whole(call->out[static_cast<size_t>(o)], result, bytes)) continue;
      const int from = program_.resolve(operand).buffer;
      const auto reads = std::count_if(call->in.begin(), call->in.end(), [&](const View& v) {
        return v.present() && program_.resolve(v).buffer == from;
      });
      if (from != result && reads == 1 && whole(operand, from, bytes)) return from;
    }
    return std::nullopt;
  }

  const Program& program_;
  std::vector<std::vector<Use>> uses_;  // of each storage, in order
};

}  // namespace

void update_states_in_place(Program& program) {
  if (program.states.empty()) return;
  const auto writes_state = [&](const Call* call) {
    return call && call->means(Meaning::Kind::copy) &&
           program.buffer(program.resolve(call->out[0]).buffer).kind == BufferKind::state;
  };
  for (size_t t = program.steps.size(); t-- > 0;) {
    if (!writes_state(program.steps[t].call())) continue;
    const std::optional<Found> found = Uses(program).state_made_by(t);
    if (!found) continue;
    for (int buffer : found->buffers) {
      program.buffers[static_cast<size_t>(buffer)].alias_of = found->state;
      program.buffers[static_cast<size_t>(buffer)].alias_offset = 0;
    }
    for (size_t copy : found->copies)
      program.steps.erase(program.steps.begin() + static_cast<ptrdiff_t>(copy));
    t = std::min(t, program.steps.size());
  }
}

}  // namespace qc
