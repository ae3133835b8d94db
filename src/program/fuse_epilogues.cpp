#include "program/fuse_epilogues.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/epilogue/calls.h"
#include "kernels/qtile/output.h"
#include "program/epilogue.h"
#include "program/selectors.h"

namespace qc {
namespace {

constexpr float kNoLimit = std::numeric_limits<float>::infinity();

/// An addition `sum` whose operand `mine` is the result of `product`, `bytes` long.
struct Addition {
  const Call& product;
  const Call& sum;
  size_t mine;
  Dim bytes;

  const View& other() const { return sum.in[1 - mine]; }
};

/// One loop over all elements, `bytes` in all, of `size` bytes each.
bool is_flat(const Call& c, const Dim& bytes, int64_t size) {
  return c.integer("rank") == 1 && c.size("a") == 1 && c.size("b") == 1 &&
         c.size("dims") * Dim(size) == bytes;
}

std::optional<Stage> add_floats(const Addition& a) {
  const bool limited = a.sum.kernel->name == "binary_clamp";
  const bool plain = a.sum.kernel->name == "binary" && selector(a.sum, "type") == "f32";
  if ((!limited && !plain) || selector(a.sum, "op") != "add" || !is_flat(a.sum, a.bytes, 4)) {
    return std::nullopt;
  }
  stage::AddF32 out;
  out.residual = a.other();
  out.rlo = limited ? a.sum.real("lo") : -kNoLimit;
  out.rhi = limited ? a.sum.real("hi") : kNoLimit;
  Stage made = make_stage(out);
  made.in_place = true;
  return made;
}

std::optional<Stage> clamp_floats(const Addition& a, const Call& limit) {
  if (limit.kernel->name != "clamp" || selector(limit, "type") != "f32" ||
      a.sum.kernel->name != "binary" || !(limit.size("n") * Dim(4) == a.bytes)) {
    return std::nullopt;
  }
  stage::AddF32 out;
  out.residual = a.other();
  out.rlo = limit.real("lo");
  out.rhi = limit.real("hi");
  Stage made = make_stage(out);
  made.in_place = true;
  return made;
}

int64_t code_bytes(int64_t type) { return type <= QK_U8 ? 1 : 2; }

/// Whether the product's own code is made with integers only. Bodies for vectors are for those made
/// with floats, and take no residual that is added with integers.
bool rescales_by_integers(const Call& product) {
  if (product.epilogue.empty()) return false;
  const Stage& first = product.epilogue.front();
  const Field* q31 = first.kind->field("q31");
  return q31 && !(std::get<Dim>(first.params[q31->at]) == Dim(0));
}

std::optional<Stage> add_codes(const Addition& a) {
  static constexpr std::string_view kKinds[] = {"exact", "ort", "f32", "q31"};
  static_assert(QK_R_EXACT == 0 && QK_R_ORT == 1 && QK_R_F32 == 2 && QK_R_Q31 == 3);
  if (a.sum.kernel->name != "qbinary" || selector(a.sum, "op") != "add") return std::nullopt;
  const auto* kind = std::find(std::begin(kKinds), std::end(kKinds), selector(a.sum, "arithmetic"));
  const int64_t type = a.sum.integer(a.mine == 0 ? "type_a" : "type_b");
  if (kind == std::end(kKinds) || !is_flat(a.sum, a.bytes, code_bytes(type))) {
    return std::nullopt;
  }
  const bool q31 = *kind == "q31";
  if (q31 && !rescales_by_integers(a.product)) return std::nullopt;
  const auto integer = [&](const char* name) { return static_cast<int32_t>(a.sum.integer(name)); };
  stage::Add out;
  out.residual = a.other();
  out.r_kind = static_cast<int32_t>(kind - kKinds);
  out.r_first = a.mine == 0 ? 1 : 0;
  out.r_type = integer(a.mine == 0 ? "type_b" : "type_a");
  out.r_y_type = integer("type_y");
  out.r_za = integer("za");
  out.r_zb = integer("zb");
  out.r_zero = integer("zero");
  out.r_lo = integer("lo");
  out.r_hi = integer("hi");
  out.r_lowest = integer("lowest");
  out.r_reciprocal = integer("reciprocal");
  if (q31) {
    out.r_ma = integer("ma");
    out.r_mb = integer("mb");
    out.r_mshift = integer("mshift");
  } else {
    out.r_ra = a.sum.real("ra");
    out.r_rb = a.sum.real("rb");
  }
  out.r_shift = a.sum.real("shift");
  out.r_divisor = a.sum.real("divisor");
  Stage made = make_stage(out);
  // Every element is read before it is written, where both are as wide.
  made.in_place = code_bytes(out.r_type.value()) == code_bytes(out.r_y_type.value());
  return made;
}

/// Stages that steps after a call can become, and how; empty when they cannot.
struct Fusion {
  std::string_view stage;
  std::optional<Stage> (*add)(const Addition& a);
  std::optional<Stage> (*clamp)(const Addition& a, const Call& limit);  // null: none
};
constexpr Fusion kFusions[] = {
    {"add_f32", add_floats, clamp_floats},
    {"add", add_codes, nullptr},
};

const Fusion* fusion_of(const Call& call) {
  for (const Fusion& f : kFusions) {
    if (takes(call, f.stage)) return &f;
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
      const Fusion* fusion = fusion_of(*call);
      if (!fusion) continue;
      const int add = only_reader(call->out[0]);
      if (add < 0) continue;
      Step& added = p_.steps[static_cast<size_t>(add)];
      const Call* sum = added.call();
      if (!sum || sum->in.size() != 2) continue;
      const BufferOffset mine_at = p_.resolve(call->out[0]);
      const size_t mine = p_.resolve(sum->in[0]) == mine_at ? 0 : 1;
      const Addition addition{*call, *sum, mine, p_.buffer(mine_at.buffer).bytes};
      std::optional<Stage> stage = fusion->add(addition);
      if (!stage || p_.resolve(addition.other()).buffer == mine_at.buffer) continue;
      // The call moves to the place of the addition, where the residual is ready.
      Call fused = *call;
      fused.out = sum->out;
      Loc loc = join(p_.steps[t].loc, added.loc);
      drop[t] = true;
      const int clamp = fusion->clamp ? only_reader(sum->out[0]) : -1;
      if (clamp >= 0) {
        const Step& limit = p_.steps[static_cast<size_t>(clamp)];
        if (auto limited = limit.call() ? fusion->clamp(addition, *limit.call()) : std::nullopt) {
          stage = std::move(limited);
          fused.out = limit.call()->out;
          loc = join(loc, limit.loc);
          drop[static_cast<size_t>(clamp)] = true;
        }
      }
      fused.epilogue.push_back(std::move(*stage));
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
