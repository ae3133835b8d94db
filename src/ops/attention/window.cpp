// Masks that are windows.
#include "ops/attention/attention.h"

namespace qc {
namespace {

/// Keys i - below to i + above of query i; nullopt does not limit.
struct Band {
  std::optional<Dim> below, above;
};

/// Makes `limit` the lower of itself and `other`; false where that depends on sizes.
bool narrow(std::optional<Dim>& limit, const Dim& other) {
  if (limit && !(*limit == other) && !(limit->is_static() && other.is_static())) return false;
  if (!limit || (other.is_static() && other.value() < limit->value())) limit = other;
  return true;
}

/// The keys that take part; nullopt where they are no band along the diagonal.
std::optional<Band> band_of(const IndexFormula& mask) {
  Band band;
  for (const Affine& term : mask.terms) {
    const size_t rank = term.step.size();
    Ints upper(rank), lower(rank);
    if (rank < 2) return std::nullopt;
    upper[rank - 2] = lower[rank - 1] = 1;
    upper[rank - 1] = lower[rank - 2] = -1;
    const bool fits = (term.step == upper && narrow(band.above, term.base)) ||
                      (term.step == lower && narrow(band.below, term.base));
    if (!fits) return std::nullopt;
  }
  return band;
}

/// Sets left, right and offset of a window without limits; false where they cannot say it.
bool set_window(AttentionScores& to, const Band& band) {
  const auto counts = [](const Dim& d) { return d.is_static() && d.value() >= 0; };
  // Counted from the query itself where both limits allow that, else from one of them.
  const bool plain = (!band.above || counts(*band.above)) && (!band.below || counts(*band.below));
  if (!plain) to.offset = band.above ? *band.above : Dim(0) - *band.below;
  if (band.above) {
    to.right = plain ? band.above->value() : 0;
  }
  if (band.below) {
    const Dim left = *band.below + to.offset;
    if (!counts(left)) return false;
    to.left = left.value();
  }
  return to.left <= INT32_MAX && to.right <= INT32_MAX;
}

}  // namespace

std::unique_ptr<Node> Attention::without_mask(const IndexFormula& mask) const {
  if (input_count() <= kMask) return nullptr;
  const Dims &q = input_type(kQ).shape, &k = input_type(kK).shape, &m = input_type(kMask).shape;
  const Dims scores{q[0], q[1], q[2], k[2]};
  for (size_t i = 0; i < m.size(); ++i) {
    if (!(m[i] == Dim(1)) && !(m[i] == scores[4 - m.size() + i])) return nullptr;
  }
  const std::optional<Band> band = band_of(mask);
  const bool limits = band && (band->above || band->below);
  if (!band || (limits && (left >= 0 || right >= 0))) return nullptr;
  auto node = std::make_unique<Attention>(*this);
  if (limits && !set_window(*node, *band)) return nullptr;
  return node;
}

}  // namespace qc
