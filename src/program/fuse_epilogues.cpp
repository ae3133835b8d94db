#include "program/fuse_epilogues.h"

#include <algorithm>
#include <limits>

#include "kernels/qgemm/output.h"

namespace qc {
namespace {

constexpr float kNoLimit = std::numeric_limits<float>::infinity();

/// An addition `sum` whose operand `mine` is the result of a call, `bytes` long.
struct Addition {
  const Call& sum;
  size_t mine;
  int64_t bytes;
};

/// Writes numbers into members of a call's parameters.
void set(Call& call, std::string_view field, Param value) {
  call.params[call.kernel->field(field)->at] = std::move(value);
}

bool is_flat(const Call& c, int64_t count) {
  return c.integer("rank") == 1 && c.integer("a") == 1 && c.integer("b") == 1 &&
         c.integer("dims") == count;
}

/// A kind of epilogue: the parameter by which kernels that take it are known, and how steps after a
/// call become its parameters. False when they cannot.
struct Epilogue {
  std::string_view field;
  bool (*add)(const Addition& a, Call& to);
  bool (*clamp)(const Addition& a, const Call& limit, Call& to);  // null: none
  /// Whether the result may overwrite the residual: every element is read before it is written.
  bool (*in_place)(const Call& call);
};

bool add_floats(const Addition& a, Call& to) {
  const bool limited = a.sum.kernel->name == "binary_clamp";
  const bool plain = a.sum.kernel->name == "binary" && a.sum.select[1] == "f32";
  if ((!limited && !plain) || a.sum.select[0] != "add" || a.bytes % 4 != 0 ||
      !is_flat(a.sum, a.bytes / 4)) {
    return false;
  }
  set(to, "rlo", limited ? a.sum.real("lo") : -kNoLimit);
  set(to, "rhi", limited ? a.sum.real("hi") : kNoLimit);
  return true;
}

bool clamp_floats(const Addition& a, const Call& limit, Call& to) {
  if (limit.kernel->name != "clamp" || limit.select[0] != "f32" || a.sum.kernel->name != "binary" ||
      limit.integer("n") * 4 != a.bytes) {
    return false;
  }
  set(to, "rlo", limit.real("lo"));
  set(to, "rhi", limit.real("hi"));
  return true;
}

int64_t code_bytes(int64_t type) { return type <= QK_U8 ? 1 : 2; }

bool add_codes(const Addition& a, Call& to) {
  static constexpr std::string_view kKinds[] = {"exact", "ort", "f32"};
  static_assert(QK_R_EXACT == 0 && QK_R_ORT == 1 && QK_R_F32 == 2);
  if (a.sum.kernel->name != "qbinary" || a.sum.select[0] != "add") return false;
  const auto* kind = std::find(std::begin(kKinds), std::end(kKinds), a.sum.select[1]);
  const int64_t type = a.sum.integer(a.mine == 0 ? "type_a" : "type_b");
  if (kind == std::end(kKinds) || a.bytes % code_bytes(type) != 0 ||
      !is_flat(a.sum, a.bytes / code_bytes(type))) {
    return false;
  }
  set(to, "r_kind", Dim(kind - kKinds));
  set(to, "r_first", Dim(a.mine == 0 ? 1 : 0));
  set(to, "r_type", Dim(a.sum.integer(a.mine == 0 ? "type_b" : "type_a")));
  set(to, "r_y_type", Dim(a.sum.integer("type_y")));
  for (const char* member : {"za", "zb", "zero", "lo", "hi", "lowest", "reciprocal"})
    set(to, std::string("r_") + member, Dim(a.sum.integer(member)));
  for (const char* member : {"ra", "rb", "shift", "divisor"})
    set(to, std::string("r_") + member, a.sum.real(member));
  return true;
}

constexpr Epilogue kEpilogues[] = {
    {"rlo", add_floats, clamp_floats, [](const Call&) { return true; }},
    {"r_kind", add_codes, nullptr,
     [](const Call& c) {
       return code_bytes(c.integer("r_type")) == code_bytes(c.integer("r_y_type"));
     }},
};

const Epilogue* epilogue_of(const Signature& kernel) {
  for (const Epilogue& e : kEpilogues) {
    if (kernel.field(e.field)) return &e;
  }
  return nullptr;
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
      const Epilogue* e = epilogue_of(*call->kernel);
      const int residual = call->kernel->operand("residual");
      if (!e || call->in[static_cast<size_t>(residual)].present()) continue;
      const int add = only_reader(call->out[0]);
      if (add < 0) continue;
      Step& added = p_.steps[static_cast<size_t>(add)];
      const Call* sum = added.call();
      if (!sum || sum->in.size() != 2) continue;
      const Place mine_at = p_.resolve(call->out[0]);
      const size_t mine = p_.resolve(sum->in[0]) == mine_at ? 0 : 1;
      // The call moves to the place of the addition, where the residual is ready.
      Call fused = *call;
      const Addition addition{*sum, mine, p_.buffer(mine_at.buffer).size()};
      if (!e->add(addition, fused)) continue;
      if (p_.resolve(sum->in[1 - mine]).buffer == mine_at.buffer) continue;
      fused.in[static_cast<size_t>(residual)] = sum->in[1 - mine];
      fused.out = sum->out;
      Loc loc = join(p_.steps[t].loc, added.loc);
      drop[t] = true;
      const int clamp = e->clamp ? only_reader(sum->out[0]) : -1;
      if (clamp >= 0) {
        const Step& limit = p_.steps[static_cast<size_t>(clamp)];
        if (limit.call() && e->clamp(addition, *limit.call(), fused)) {
          fused.out = limit.call()->out;
          loc = join(loc, limit.loc);
          drop[static_cast<size_t>(clamp)] = true;
        }
      }
      if (e->in_place(fused)) fused.in_place.push_back({residual, 0});
      added = {std::move(loc), std::move(fused)};
    }
    if (std::find(drop.begin(), drop.end(), true) == drop.end()) return;
    Steps kept;
    kept.reserve(p_.steps.size());
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      if (!drop[t]) kept.push_back(std::move(p_.steps[t]));
    }
    p_.steps = std::move(kept);
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
  /// The one step that reads the storage written at `view`, which must be whole, private and
  /// written once; -1 when there is none.
  int only_reader(const View& view) const {
    const Place root = p_.resolve(view);
    const size_t b = static_cast<size_t>(root.buffer);
    if (root.offset != 0 || p_.buffers[b].kind != BufferKind::arena) return -1;
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
