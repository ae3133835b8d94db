#include "ops/attention/scores.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/relations.h"
#include "ops/common/strided.h"
#include "program/strided_alias.h"

namespace qc {
Dims mask_strides(const Dims& shape, const Dims& strides) {
  Dims out(4);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == 1)) out[4 - shape.size() + i] = strides[i];
  }
  return out;
}

Dims mask_strides(const Node& node) {
  const Value* mask = node.input(kMask);
  return mask ? mask_strides(mask->shape(), strides_in(node, kMask)) : Dims(4);
}

AttrMap AttentionScores::written() const {
  return {{"scale", scale},   {"softcap", softcap},   {"left", left},    {"right", right},
          {"offset", offset}, {"nan_rows", nan_rows}, {"joined", joined}};
}

float AttentionScores::factor(int64_t depth) const {
  return static_cast<float>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(depth)));
}

Result<float> AttentionScores::factor(const Dim& depth, const Loc& loc) const {
  if (depth.is_static()) return factor(depth.value());
  if (scale != 0) return factor(1);
  std::set<std::string> symbols;
  depth.collect_symbols(symbols);
  return error(Code::unsupported, loc,
               "the scale of attention follows from a depth of {}, which is free: give --dim "
               "{}=SIZE",
               depth.str(), fmt::join(symbols, "=SIZE --dim "));
}

bool AttentionScores::sees(int64_t query, int64_t key) const {
  const int64_t center = query + offset.value();
  return (left < 0 || key >= center - left) && (right < 0 || key <= center + right);
}

Result<Dims> AttentionScores::check(const Node& node) const {
  const Dims &q = node.input_type(kQ).shape, &k = node.input_type(kK).shape,
             &v = node.input_type(kV).shape;
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && !differ(q[0], k[0]) &&
                    !differ(q[0], v[0]) && !differ(k[1], v[1]) && !differ(k[2], v[2]) &&
                    !differ(q[3], k[3]);
  if (!fits) {
    return error(Code::shape, node.loc(), "attention of {} over {} and {}", str(q), str(k), str(v));
  }
  if (!q[1].is_static() || !k[1].is_static()) {
    return error(Code::dim, node.loc(), "{} heads over {} heads of keys; bind them with --dim",
                 q[1].str(), k[1].str());
  }
  if (k[1].value() < 1 || q[1].value() % k[1].value() != 0) {
    return error(Code::shape, node.loc(), "{} heads share {} heads of keys", q[1].str(),
                 k[1].str());
  }
  const bool far =
      left > INT32_MAX || right > INT32_MAX ||
      (offset.is_static() && (offset.value() > INT32_MAX || offset.value() < INT32_MIN));
  if (far || left < -1 || right < -1 || !(softcap >= 0) || !std::isfinite(scale)) {
    return error(Code::attribute, node.loc(),
                 "window {}, {}, softcap {} or scale {} is out of range", left, right, softcap,
                 scale);
  }
  const Dims scores{q[0], q[1], q[2], k[2]};
  if (const Value* mask = node.input(kMask)) {
    const Dims& m = mask->shape();
    bool broadcasts = m.size() <= 4;
    for (size_t i = 0; broadcasts && i < m.size(); ++i) {
      broadcasts = m[i] == Dim(1) || !differ(m[i], scores[4 - m.size() + i]);
    }
    if (!broadcasts)
      return error(Code::shape, node.loc(), "a mask {} for scores {}", str(m), str(scores));
  }
  if (joined) return Dims{q[0], q[2], q[1] * v[3]};
  return Dims{q[0], q[1], q[2], v[3]};
}

Dims AttentionScores::result_strides(const Dims& q, const Dims& v) const {
  const Dim batch = q[1] * q[2] * v[3];
  if (joined) return {batch, v[3], q[1] * v[3]};
  return {batch, q[2] * v[3], v[3]};
}

void fill_strides(const Node& node, size_t i, Dim (&at)[3]) {
  const Dims strides = strides_in(node, i);
  std::copy_n(strides.begin(), 3, at);
}

}  // namespace qc
