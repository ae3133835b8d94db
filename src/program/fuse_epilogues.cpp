#include "program/fuse_epilogues.h"

#include <cstring>
#include <limits>

#include "kernels/c/binary/binary.h"
#include "kernels/c/clamp/clamp.h"
#include "kernels/c/elementwise.h"
#include "kernels/kernels.h"

namespace qc {
namespace {

constexpr std::string_view kAdd = "qk_binary_add_f32";
constexpr std::string_view kAddClamp = "qk_binary_add_clamp_f32";
constexpr std::string_view kClamp = "qk_clamp_f32";
constexpr float kNoLimit = std::numeric_limits<float>::infinity();

/// Index of the words rlo, rhi; -1 when the kernel takes no residual.
int residual_limits(const qk_entry& kernel) {
  const std::string_view fields = kernel.fields;
  if (!fields.ends_with(",f rlo,f rhi")) return -1;
  return static_cast<int>(kernel.params_size / 4) - 2;
}

class Fuser {
 public:
  explicit Fuser(Program& program)
      : p_(program), readers_(program.buffers.size()), writers_(program.buffers.size()) {
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      note(p_.steps[t], static_cast<int>(t));
    }
  }

  void run() {
    std::vector<bool> drop(p_.steps.size(), false);
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      if (drop[t] || p_.steps[t].kind != Step::Kind::call) continue;
      const int limits = residual_limits(*find_kernel(p_.steps[t].kernel));
      if (limits < 0 || p_.steps[t].in.back().buffer >= 0) continue;
      const int add = only_reader(p_.steps[t].out[0]);
      View residual;
      float lo = -kNoLimit, hi = kNoLimit;
      if (add < 0 ||
          !is_flat_add(p_.steps[static_cast<size_t>(add)], p_.steps[t].out[0], residual, lo, hi))
        continue;
      // The call moves to the place of the addition, where the residual is ready.
      Step fused = p_.steps[t];
      Step& sum = p_.steps[static_cast<size_t>(add)];
      fused.in.back() = residual;
      fused.out = sum.out;
      fused.loc = join(fused.loc, sum.loc);
      drop[t] = true;
      if (const int clamp = sum.kernel == kAdd ? only_reader(sum.out[0]) : -1;
          clamp >= 0 && is_clamp(p_.steps[static_cast<size_t>(clamp)], sum.out[0], lo, hi)) {
        fused.out = p_.steps[static_cast<size_t>(clamp)].out;
        fused.loc = join(fused.loc, p_.steps[static_cast<size_t>(clamp)].loc);
        drop[static_cast<size_t>(clamp)] = true;
      }
      std::memcpy(&fused.params[static_cast<size_t>(limits)], &lo, 4);
      std::memcpy(&fused.params[static_cast<size_t>(limits) + 1], &hi, 4);
      // The result may overwrite the residual: every element is read before it is written.
      fused.in_place.push_back({static_cast<int>(fused.in.size()) - 1, 0});
      p_.steps[static_cast<size_t>(add)] = std::move(fused);
    }
    Steps kept;
    for (size_t t = 0; t < p_.steps.size(); ++t) {
      if (!drop[t]) kept.push_back(std::move(p_.steps[t]));
    }
    p_.steps = std::move(kept);
  }

 private:
  void note(const Step& step, int t) {
    for_each_step({step}, [&](const Step& s) {
      for (View v : s.in) add_to(readers_, v, t);
      for (View v : {s.condition, s.limit, s.counter}) add_to(readers_, v, t);
      for (View v : s.out) add_to(writers_, v, t);
    });
  }
  void add_to(std::vector<std::vector<int>>& list, View v, int t) {
    if (v.buffer >= 0) list[static_cast<size_t>(p_.resolve(v).buffer)].push_back(t);
  }
  /// The one step that reads the storage written at `view`, which must be whole, private and
  /// written once; -1 when there is none.
  int only_reader(View view) const {
    const View root = p_.resolve(view);
    const size_t b = static_cast<size_t>(root.buffer);
    if (root.offset != 0 || p_.buffers[b].kind != BufferKind::arena) return -1;
    if (writers_[b].size() != 1 || readers_[b].size() != 1) return -1;
    return readers_[b][0];
  }
  bool same_bytes(View a, View b) const {
    return p_.buffers[static_cast<size_t>(a.buffer)].bytes ==
           p_.buffers[static_cast<size_t>(b.buffer)].bytes;
  }
  /// Whether `s` adds a residual of equal size to `value`, limited to [lo, hi].
  bool is_flat_add(const Step& s, View value, View& residual, float& lo, float& hi) const {
    if (s.kind != Step::Kind::call || (s.kernel != kAdd && s.kernel != kAddClamp)) return false;
    qk_broadcast2_clamp_params params = {};
    const bool limited = s.kernel == kAddClamp;
    std::memcpy(&params, s.params.data(), limited ? sizeof params : sizeof(qk_broadcast2_params));
    if (limited) {
      lo = params.lo;
      hi = params.hi;
    }
    const int64_t bytes = p_.buffers[static_cast<size_t>(p_.resolve(value).buffer)].bytes;
    if (params.rank != 1 || params.a[0] != 1 || params.b[0] != 1 ||
        params.dims[0] * int64_t{4} != bytes)
      return false;
    const size_t mine = p_.resolve(s.in[0]) == p_.resolve(value) ? 0 : 1;
    residual = s.in[1 - mine];
    return p_.resolve(residual).buffer != p_.resolve(value).buffer &&
           same_bytes(s.out[0], s.in[mine]);
  }
  bool is_clamp(const Step& s, View value, float& lo, float& hi) const {
    if (s.kind != Step::Kind::call || s.kernel != kClamp) return false;
    qk_clamp_params params;
    std::memcpy(&params, s.params.data(), sizeof params);
    if (params.n * int64_t{4} != p_.buffers[static_cast<size_t>(value.buffer)].bytes) return false;
    lo = params.lo;
    hi = params.hi;
    return true;
  }

  Program& p_;
  std::vector<std::vector<int>> readers_, writers_;  // steps by storage
};

}  // namespace

void fuse_epilogues(Program& program) { Fuser(program).run(); }

}  // namespace qc
