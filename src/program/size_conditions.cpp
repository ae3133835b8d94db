#include "program/size_conditions.h"

#include <algorithm>
#include <set>

namespace qc {
namespace {

class Decider {
 public:
  explicit Decider(Program& program) : program_(program) {}

  void run(Steps& steps) {
    for (Step& step : steps) {
      if (auto* branch = std::get_if<BranchStep>(&step.op)) {
        const Dim* known = find(branch->condition);
        if (known) branch->condition = decided_by(*known);
        run(branch->body);
        run(branch->otherwise);
      } else if (auto* loop = std::get_if<LoopStep>(&step.op)) {
        run(loop->body);
      } else if (const Call* call = step.call()) {
        note(*call);
      }
    }
  }

  /// Removes calls that wrote conditions which nobody reads now; the last ones first.
  void remove_unread() {
    for (bool removed = true; removed;) {
      std::set<int> read;
      for_each_step(program_.steps, [&](const Step& s) {
        for_each_view(s, [&](const View& v, bool written) {
          if (!written) read.insert(program_.owner(v.buffer));
        });
      });
      removed = remove(program_.steps, read);
    }
  }

 private:
  struct Known {
    BufferOffset position;
    Dim value;
  };

  const Dim* find(const View& view) const {
    if (!view.present()) return nullptr;
    const BufferOffset position = program_.resolve(view);
    const auto at =
        std::ranges::find_if(known_, [&](const Known& k) { return k.position == position; });
    return at == known_.end() ? nullptr : &at->value;
  }

  /// What a call writes that depends on sizes alone: numbers themselves, and whether one is not 0.
  void note(const Call& call) {
    if (const Meaning* list = call.means(Meaning::Kind::list)) {
      BufferOffset position = program_.resolve(call.out[0]);
      for (int64_t i = 0; i < call.integer(list->members[1]); ++i) {
        known_.push_back({position, call.size(list->members[0], static_cast<int>(i))});
        position.offset = position.offset + Dim(8);
      }
    } else if (const Meaning* test = call.means(Meaning::Kind::test)) {
      const Dim* value = call.size(test->members[0]) == Dim(1) ? find(call.in[0]) : nullptr;
      if (value) known_.push_back({program_.resolve(call.out[0]), Dim(*value)});
    }
  }

  bool remove(Steps& steps, const std::set<int>& read) const {
    const size_t count = steps.size();
    std::erase_if(steps, [&](const Step& s) {
      const Call* call = s.call();
      if (!call || call->out.size() != 1 || !find(call->out[0])) return false;
      const int owner = program_.owner(call->out[0].buffer);
      return program_.buffer(owner).kind == BufferKind::arena && !read.contains(owner);
    });
    bool removed = steps.size() != count;
    for (Step& s : steps) {
      if (auto* branch = std::get_if<BranchStep>(&s.op)) {
        removed = remove(branch->body, read) || removed;
        removed = remove(branch->otherwise, read) || removed;
      }
    }
    return removed;
  }

  Program& program_;
  std::vector<Known> known_;
};

}  // namespace

View decided_by(const Dim& size) {
  View out;
  out.offset = size;
  return out;
}

void decide_by_sizes(Program& program) {
  Decider decider(program);
  decider.run(program.steps);
  decider.remove_unread();
}

}  // namespace qc
