// Attention with keys and values in panels of 16 columns (kernels/attention/portable.c).
#include "kernels/attention/calls.h"
#include "program/estimate.h"
#include "program/variant.h"

namespace qc {
namespace {

constexpr int64_t kRows = 12;  // of queries that are computed together

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder& binder) {
  Call c = Binder::like(call, "attention_panels");
  const Dim queries = call.size("queries"), keys = call.size("keys");
  const int64_t rows = queries.is_static() ? std::min(queries.value(), kRows) : kRows;
  const bool wide = !keys.is_static();
  set_integer(c, "rows", rows);
  set_integer(c, "wide", wide ? 1 : 0);
  // As QK_ATTENTION_SCRATCH counts them.
  const auto whole = [](const Dim& n, int64_t tile) { return ceildiv(n, tile) * Dim(tile); };
  const Dim padded = whole(keys, wide ? QK_ATTENTION_WIDE : 16);
  QC_ASSIGN(Dim floats,
            binder.param(padded * call.size("depth") + whole(call.size("value_depth"), 16) * keys +
                         Dim(rows) * (wide ? padded : keys)));
  set_view(c, "scratch", binder.scratch(DType::f32, {std::move(floats)}, "scores"));
  return c;
}

}  // namespace

void variants_attention_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "attention",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
