#pragma once

#include <span>

#include "frontends/common/foreign.h"
#include "ir/padding.h"
#include "ir/rewrite.h"

namespace qc {

/// Scaled dot product attention of q [batch, heads, queries, depth] over k [batch, kv heads, keys,
/// depth] and v [batch, kv heads, keys, value depth], with an optional mask that broadcasts to
/// [batch, heads, queries, keys]: bool (true: the key takes part) or f32 (added to the score). The
/// order of float operations is in kernels/attention/attention.h.
class Attention final : public OpNode<Attention>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  double scale = 0;    // 0: 1 / sqrt(depth)
  double softcap = 0;  // 0: none
  /// Query i sees keys i + offset - left to i + offset + right; -1 does not limit. Causal: right =
  /// 0.
  int64_t left = -1, right = -1;
  Dim offset;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("scale", scale, 0.0);
    v("softcap", softcap, 0.0);
    v("left", left, int64_t{-1});
    v("right", right, int64_t{-1});
    v("offset", offset, Dim(0));
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

 private:
  float factor(int64_t depth) const;
};

/// A scale as the attribute has it: 0 for 1 / sqrt(depth), the depth being that of the queries.
double written_scale(double scale, const Value* queries);

std::span<const ImportRow> attention_onnx_rows();
std::span<const ImportRow> attention_aten_rows();
std::span<const Rewrite> attention_rewrites();

}  // namespace qc
