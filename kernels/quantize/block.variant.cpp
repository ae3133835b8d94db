// Scales from the data, by blocks of threads (kernels/quantize/block.cu).
#include "kernels/quantize/block_bind.h"
#include "kernels/quantize/selectors.h"
#include "kernels/strided/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  if (call.size("rows") == 1) return "";
  return block_refusal(binder, call.size("n"));
}

/// One scale for all: ranges of parts first.
Call bind_all(const Call& call, Binder& binder) {
  constexpr int64_t kMost = 1024;
  const int64_t n = call.integer("n");
  const int64_t range_count = std::clamp<int64_t>(n / QK_RANGES_UNIT, 1, kMost);
  const View ranges = binder.scratch(DType::f32, {range_count, 2}, "ranges");
  Call first = Binder::like(call, "ranges_block", {"block"});
  set_integer(first, "range_count", range_count);
  set_view(first, "ranges", ranges);
  first.in_place.clear();
  binder.before(std::move(first));
  const auto result = [&](const char* name) {
    return call.out[static_cast<size_t>(call.kernel->result(name))];
  };
  const std::string& codes = selectors::DynamicQuantize(call).codes;
  const int64_t size = codes == "i8" || codes == "u8" ? 1 : 2;
  return quantize_ranges(call, n, range_count, size, call.operand("x"), ranges, result("y"),
                         result("scales"), result("zeros"), call.size("lo"), call.size("hi"),
                         call.size("symmetric"));
}

/// The same of elements that follow each other, which a call before it puts so.
Call dense(const Call& call, Binder& binder) {
  const Dim n = call.size("rows") * call.size("n"), run = call.size("run");
  kernel::StridedDevice copy;
  std::fill(std::begin(copy.dims), std::end(copy.dims), Dim(1));
  copy.dims[6] = ceildiv(n, run);
  copy.dims[7] = run;
  copy.xs[6] = call.size("x_run");
  copy.ys[6] = run;
  copy.xs[7] = copy.ys[7] = Dim(1);
  copy.machine = "cuda";
  copy.bytes = "4";
  copy.x = call.operand("x");
  copy.y = binder.scratch(DType::f32, {n}, "elements");
  binder.before(copy);
  Call out = call;
  set_view(out, "x", copy.y);
  set_integer(out, "run", Dim(0));
  set_integer(out, "x_run", Dim(0));
  return out;
}

Result<Call> bind(const Call& given, Binder& binder) {
  const Call call = given.size("run") == Dim(0) ? given : dense(given, binder);
  if (call.size("rows") == 1 && call.size("n").is_static()) return bind_all(call, binder);
  return Binder::like(call, "dynamic_quantize_block",
                      {"block", selectors::DynamicQuantize(call).codes});
}

}  // namespace

void variants_quantize_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "dynamic_quantize",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
