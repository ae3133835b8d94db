#include "program/fuse_epilogues.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "program/epilogue.h"

namespace qc {
namespace {

/// The bytes of an element.
Dim width(const View& view) {
  View one;
  one.dtype = view.dtype;
  one.dims = {Dim(1)};
  return extent(one);
}

/// The value of a stage's member: a number, or a number of the call.
Param value_of(const Call& call, const std::string& text, Field::Type type) {
  const Field* f = call.kernel->field(text);
  if (f) return call.params[f->at];
  if (type == Field::Type::f32) return std::strtof(text.c_str(), nullptr);
  return Dim(std::strtoll(text.c_str(), nullptr, 10));
}

/// Sets the members of a stage to what the fusion of `call`, whose operand `mine` is the result
/// before, says.
void set_members(Stage& stage, const Fusion& fusion, const Call& call, size_t mine) {
  for (const Fusion::Member& m : fusion.members) {
    const Field& f = *stage.kind->field(m.name);
    stage.params[f.at] = value_of(call, mine == 0 ? m.first : m.other, f.type);
  }
}

/// How a call becomes, or joins, a stage of this kind behind the stage `before`; null when it
/// cannot.
const Fusion* fusion_of(const Signature& kind, bool joins, const Call& call, const Stage* before) {
  const auto it = std::ranges::find_if(kind.fusions, [&](const Fusion& f) {
    return f.joins == joins && f.kernel == call.kernel->name && call.meets(f.conditions, before);
  });
  return it == kind.fusions.end() ? nullptr : &*it;
}

/// A call as a stage of `product`, whose result of so many bytes is its operand `mine`; none when
/// it cannot be one.
std::optional<Stage> as_stage(const Call& call, const Call& product, size_t mine,
                              const Dim& bytes) {
  const Stage* before = product.epilogue.empty() ? nullptr : &product.epilogue.back();
  for (const std::string& name : product.kernel->epilogue) {
    const Signature* kind = find_stage(name);
    const Fusion* found = takes(product, name) ? fusion_of(*kind, false, call, before) : nullptr;
    if (!found || !(call.size(found->count) * width(call.in[mine]) == bytes)) continue;
    Stage out;
    out.kind = kind;
    out.params = zeros(*kind);
    set_members(out, *found, call, mine);
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (i != mine) out.in.push_back(call.in[i]);
    }
    // Every element is read before it is written, where both are as wide.
    out.in_place = !out.in.empty() && width(out.in[0]) == width(call.out[0]);
    return out;
  }
  return std::nullopt;
}

/// `stage` with what a call of its result of so many bytes adds to it; none when it adds nothing.
std::optional<Stage> joined(Stage stage, const Call& call, const Dim& bytes) {
  const Fusion* found = fusion_of(*stage.kind, true, call, &stage);
  if (!found || !(call.size(found->count) * width(call.in[0]) == bytes)) return std::nullopt;
  set_members(stage, *found, call, 0);
  return stage;
}

class Fuser {
 public:
  explicit Fuser(Program& program) : p_(program), uses_(program.buffers.size()) {
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      note(p_.steps[t], static_cast<int>(t));
    }
  }

  void run() {
    std::vector<bool> drop(p_.steps.size(), false);
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      const Call* call = p_.steps[t].call();
      if (drop[t] || !call) continue;
      if (call->kernel->epilogue.empty()) continue;
      const int next = only_reader(call->out[0]);
      if (next < 0) continue;
      Step& added = p_.steps[static_cast<size_t>(next)];
      const Call* sum = added.call();
      if (!sum) continue;
      const BufferOffset mine_at = p_.resolve(call->out[0]);
      const Dim bytes = p_.buffer(mine_at.buffer).bytes;
      const std::optional<size_t> mine = operand_at(*sum, mine_at);
      std::optional<Stage> stage = mine ? as_stage(*sum, *call, *mine, bytes) : std::nullopt;
      if (!stage || reads(*stage, mine_at.buffer)) continue;
      // The call moves to the place of the addition, where the residual is ready.
      Call fused = *call;
      fused.out = sum->out;
      Loc loc = join(p_.steps[t].loc, added.loc);
      drop[t] = true;
      if (const int last = only_reader(sum->out[0]); last >= 0) {
        const Step& limit = p_.steps[static_cast<size_t>(last)];
        if (auto limited = limit.call() ? joined(*stage, *limit.call(), bytes) : std::nullopt) {
          stage = std::move(limited);
          fused.out = limit.call()->out;
          loc = join(loc, limit.loc);
          drop[static_cast<size_t>(last)] = true;
        }
      }
      fused.epilogue.push_back(std::move(*stage));
      added = {std::move(loc), std::move(fused)};
    }
    if (std::find(drop.begin(), drop.end(), true) == drop.end()) return;
    Steps retained;
    retained.reserve(p_.steps.size());
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      if (!drop[t]) retained.push_back(std::move(p_.steps[t]));
    }
    p_.steps = std::move(retained);
  }

 private:
  void note(const Step& step, int t) {
    for_each_step(std::span(&step, 1), [&](const Step& s) {
      for_each_view(s, [&](const View& v, bool write) {
        Uses& uses = uses_[static_cast<size_t>(p_.owner(v.buffer))];
        ++(write ? uses.writes : uses.reads);
        if (!write) uses.reader = t;
      });
    });
  }
  /// The first operand that lies at a place; none when none does.
  std::optional<size_t> operand_at(const Call& call, const BufferOffset& position) const {
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (call.in[i].present() && p_.resolve(call.in[i]) == position) return i;
    }
    return std::nullopt;
  }
  /// Whether an operand of the stage is absent or lies in a buffer.
  bool reads(const Stage& stage, int buffer) const {
    return std::ranges::any_of(
        stage.in, [&](const View& v) { return !v.present() || p_.resolve(v).buffer == buffer; });
  }
  /// The one step that reads the storage written at `view`, which must be whole, private and
  /// written once; -1 when there is none.
  int only_reader(const View& view) const {
    const BufferOffset root = p_.resolve(view);
    const size_t b = static_cast<size_t>(root.buffer);
    if (!(root.offset == 0) || p_.buffers[b].kind != BufferKind::arena) return -1;
    return uses_[b].writes == 1 && uses_[b].reads == 1 ? uses_[b].reader : -1;
  }

  struct Uses {
    int reads = 0, writes = 0;
    int reader = -1;  // the last step that reads it
  };
  Program& p_;
  std::vector<Uses> uses_;  // by storage
};

}  // namespace

void fuse_epilogues(Program& program) { Fuser(program).run(); }

}  // namespace qc
