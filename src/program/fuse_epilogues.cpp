#include "program/fuse_epilogues.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/binary/binary.h"
#include "kernels/clamp/clamp.h"
#include "kernels/kernels.h"
#include "kernels/qbinary/qbinary.h"
#include "kernels/qgemm/output.h"

namespace qc {
namespace {

constexpr float kNoLimit = std::numeric_limits<float>::infinity();

template <class Params>
Params params_of(const Step& s) {
  Params params;
  std::memcpy(&params, s.params.data(), sizeof params);
  return params;
}

/// An addition `sum` whose operand `mine` is the result of `call`, `bytes` long.
struct Addition {
  const Step& call;
  const Step& sum;
  size_t mine;
  int64_t bytes;
};

/// A kind of epilogue: what the parameters of kernels that have it end with, and how steps after a
/// call become these parameters, `words`. False when they cannot.
struct Epilogue {
  std::string_view fields;
  bool (*add)(const Addition& a, uint32_t* words);
  bool (*clamp)(const Addition& a, const Step& s, uint32_t* words);  // null: none
  /// Whether the result may overwrite the residual: every element is read before it is written.
  bool (*in_place)(const uint32_t* words);
};

bool add_floats(const Addition& a, uint32_t* words) {
  const bool limited = a.sum.kernel == "qk_binary_add_clamp_f32";
  if (!limited && a.sum.kernel != "qk_binary_add_f32") return false;
  qk_broadcast2_clamp_params p = {};
  std::memcpy(&p, a.sum.params.data(), limited ? sizeof p : sizeof(qk_broadcast2_params));
  if (p.rank != 1 || p.a[0] != 1 || p.b[0] != 1 || p.dims[0] * int64_t{4} != a.bytes) return false;
  const float limits[] = {limited ? p.lo : -kNoLimit, limited ? p.hi : kNoLimit};
  std::memcpy(words, limits, sizeof limits);
  return true;
}

bool clamp_floats(const Addition& a, const Step& s, uint32_t* words) {
  if (s.kernel != "qk_clamp_f32" || a.sum.kernel != "qk_binary_add_f32") return false;
  const auto p = params_of<qk_clamp_params>(s);
  if (p.n * int64_t{4} != a.bytes) return false;
  const float limits[] = {p.lo, p.hi};
  std::memcpy(words, limits, sizeof limits);
  return true;
}

int64_t code_bytes(int32_t type) { return type <= QK_U8 ? 1 : 2; }

bool add_codes(const Addition& a, uint32_t* words) {
  static constexpr std::string_view kKinds[] = {"qk_qadd", "qk_qadd_ort", "qk_qadd_f32"};
  static_assert(QK_R_EXACT == 0 && QK_R_ORT == 1 && QK_R_F32 == 2);
  const auto* kind = std::find(std::begin(kKinds), std::end(kKinds), a.sum.kernel);
  if (kind == std::end(kKinds)) return false;
  const auto p = params_of<qk_qbinary_params>(a.sum);
  const int32_t type = a.mine == 0 ? p.type_a : p.type_b;
  if (p.rank != 1 || p.a[0] != 1 || p.b[0] != 1 || p.dims[0] * code_bytes(type) != a.bytes) {
    return false;
  }
  const qk_q_residual r{static_cast<int32_t>(kind - kKinds),
                        a.mine == 0 ? 1 : 0,
                        a.mine == 0 ? p.type_b : p.type_a,
                        p.za,
                        p.zb,
                        p.type_y,
                        p.zero,
                        p.lo,
                        p.hi,
                        p.lowest,
                        p.ra,
                        p.rb,
                        p.shift,
                        p.divisor,
                        p.reciprocal};
  std::memcpy(words, &r, sizeof r);
  return true;
}

constexpr Epilogue kEpilogues[] = {
    {",f rlo,f rhi", add_floats, clamp_floats, [](const uint32_t*) { return true; }},
    {",i r_kind,i r_first,i r_type,i r_za,i r_zb,i r_y_type,i r_zero,i r_lo,i r_hi,i r_lowest,"
     "f r_ra,f r_rb,f r_shift,f r_divisor,i r_reciprocal",
     add_codes, nullptr,
     [](const uint32_t* words) {
       qk_q_residual r;
       std::memcpy(&r, words, sizeof r);
       return code_bytes(r.type) == code_bytes(r.y_type);
     }},
};

const Epilogue* epilogue_of(const qk_entry& kernel) {
  for (const Epilogue& e : kEpilogues) {
    if (std::string_view(kernel.fields).ends_with(e.fields)) return &e;
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
      const Step& call = p_.steps[t];
      if (drop[t] || call.kind != Step::Kind::call || call.in.empty()) continue;
      const Epilogue* e = epilogue_of(*find_kernel(call.kernel));
      if (!e || call.in.back().buffer >= 0) continue;
      const int add = only_reader(call.out[0]);
      if (add < 0) continue;
      Step& sum = p_.steps[static_cast<size_t>(add)];
      if (sum.kind != Step::Kind::call || sum.in.size() != 2) continue;
      const size_t mine = p_.resolve(sum.in[0]) == p_.resolve(call.out[0]) ? 0 : 1;
      // The call moves to the place of the addition, where the residual is ready.
      Step fused = call;
      const auto count = static_cast<size_t>(std::count(e->fields.begin(), e->fields.end(), ','));
      uint32_t* words = fused.params.data() + (fused.params.size() - count);
      const Addition addition{call, sum, mine, bytes_of(call.out[0])};
      if (!e->add(addition, words)) continue;
      if (p_.resolve(sum.in[1 - mine]).buffer == p_.resolve(call.out[0]).buffer) continue;
      fused.in.back() = sum.in[1 - mine];
      fused.out = sum.out;
      fused.loc = join(fused.loc, sum.loc);
      drop[t] = true;
      const int clamp = e->clamp ? only_reader(sum.out[0]) : -1;
      if (clamp >= 0) {
        const Step& limit = p_.steps[static_cast<size_t>(clamp)];
        if (limit.kind == Step::Kind::call && e->clamp(addition, limit, words)) {
          fused.out = limit.out;
          fused.loc = join(fused.loc, limit.loc);
          drop[static_cast<size_t>(clamp)] = true;
        }
      }
      if (e->in_place(words)) {
        fused.in_place.push_back({static_cast<int>(fused.in.size()) - 1, 0});
      }
      p_.steps[static_cast<size_t>(add)] = std::move(fused);
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
    auto visit = [&](const Step& s) {
      auto read = [&](View v) {
        if (v.buffer < 0) return;
        Uses& uses = uses_[static_cast<size_t>(p_.resolve(v).buffer)];
        ++uses.reads;
        uses.reader = t;
      };
      for (View v : s.in) read(v);
      for (View v : {s.condition, s.limit, s.counter}) read(v);
      for (View v : s.out) {
        if (v.buffer >= 0) ++uses_[static_cast<size_t>(p_.resolve(v).buffer)].writes;
      }
    };
    visit(step);
    for_each_step(step.body, visit);
    for_each_step(step.otherwise, visit);
  }
  int64_t bytes_of(View v) const {
    return p_.buffers[static_cast<size_t>(p_.resolve(v).buffer)].bytes;
  }
  /// The one step that reads the storage written at `view`, which must be whole, private and
  /// written once; -1 when there is none.
  int only_reader(View view) const {
    const View root = p_.resolve(view);
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
