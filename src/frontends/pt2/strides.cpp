#include "frontends/pt2/strides.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace qc::pt2 {
namespace {

/// Longer expressions are left undecided: none is written by a real model.
constexpr size_t kMaxText = 400;

/// `d` with every symbol s replaced by s + its least value, so that all symbols start at zero;
/// nothing where a symbol has no range or `d` is no polynomial.
std::optional<Dim> shifted(const Dim& d, const Graph& model) {
  const std::string text = d.str();
  if (text.size() > kMaxText || text.find('(') != text.npos) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (std::isalpha(static_cast<unsigned char>(text[i])) == 0 && text[i] != '_') {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    const std::string symbol = text.substr(i, end - i);
    auto range = model.dim_ranges.find(symbol);
    if (range == model.dim_ranges.end()) return std::nullopt;
    out += "(" + symbol + " + " + std::to_string(range->second.min) + ")";
    i = end;
  }
  auto parsed = Dim::parse(out);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

/// The axes of a format from the innermost one in memory.
std::vector<size_t> inner_to_outer(MemoryFormat format, size_t rank) {
  if (format == MemoryFormat::channels_last) return {1, 3, 2, 0};
  if (format == MemoryFormat::channels_last_3d) return {1, 4, 3, 2, 0};
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = rank - 1 - i;
  return axes;
}

bool has_rank_of(MemoryFormat format, size_t rank) {
  if (format == MemoryFormat::channels_last) return rank == 4;
  return format != MemoryFormat::channels_last_3d || rank == 5;
}

bool strides_like(const Layout& from, MemoryFormat format, SizeFacts& facts) {
  Dim least(0);
  if (facts.equal(from.strides[1], Dim(0))) return false;
  for (size_t d : inner_to_outer(format, from.sizes.size())) {
    if (facts.equal(from.sizes[d], Dim(0)) || facts.less(from.strides[d], least)) return false;
    if (d == 0 && facts.equal(least, from.strides[1])) return false;
    least = from.strides[d];
    if (facts.less(Dim(1), from.sizes[d])) least = least * from.sizes[d];
  }
  return true;
}

}  // namespace

bool SizeFacts::positive(const Dim& d) const {
  if (d.is_static()) return d.value() > 0;
  const auto from_zero = shifted(d, model_);
  if (!from_zero) return false;
  if (from_zero->is_static()) return from_zero->value() > 0;
  // Without a minus sign it grows with every symbol, so its least value is the one at zero.
  if (from_zero->str().find('-') != std::string::npos) return false;
  std::set<std::string> symbols;
  from_zero->collect_symbols(symbols);
  Bindings zero;
  for (const std::string& symbol : symbols) zero[symbol] = 0;
  const Dim least = from_zero->substitute(zero);
  return least.is_static() && least.value() > 0;
}

std::optional<bool> SizeFacts::proof(const Dim& a, const Dim& b) const {
  if (a == b) return true;
  const Dim difference = a - b;
  if (difference.is_static()) return difference.value() == 0;
  if (positive(difference) || positive(b - a)) return false;
  return std::nullopt;
}

bool SizeFacts::assume(const Dim& a, const Dim& b, DimGuard::Op yes, DimGuard::Op no) {
  std::set<std::string> symbols;
  (a - b).collect_symbols(symbols);
  Bindings example;
  for (const std::string& symbol : symbols) {
    auto range = model_.dim_ranges.find(symbol);
    if (range != model_.dim_ranges.end() && range->second.hint) {
      example[symbol] = *range->second.hint;
    }
  }
  const DimGuard guard{a, yes, b};
  const auto holds = guard.substitute(example).holds();
  if (!holds) {
    decided_ = false;
    return false;
  }
  assumed_.push_back(*holds ? guard : DimGuard{a, no, b});
  return *holds;
}

bool SizeFacts::equal(const Dim& a, const Dim& b) {
  if (const auto known = proof(a, b)) return *known;
  return assume(a, b, DimGuard::Op::eq, DimGuard::Op::ne);
}

bool SizeFacts::less(const Dim& a, const Dim& b) {
  if (positive(b - a)) return true;
  if (positive(a - b + Dim(1))) return false;
  return assume(a, b, DimGuard::Op::lt, DimGuard::Op::ge);
}

bool SizeFacts::either_equal(const Dim& a, const Dim& b, const Dim& c, const Dim& d) {
  const auto first = proof(a, b), second = proof(c, d);
  if (first == true || second == true) return true;
  if (first == false) return equal(c, d);
  if (second == false) return equal(a, b);
  return equal(a, b) || equal(c, d);
}

bool is_contiguous(const Layout& from, MemoryFormat format, SizeFacts& facts) {
  if (!has_rank_of(format, from.sizes.size())) return false;
  if (std::find(from.sizes.begin(), from.sizes.end(), Dim(0)) != from.sizes.end()) return true;
  Dim expected(1);
  for (size_t d : inner_to_outer(format, from.sizes.size())) {
    if (!facts.either_equal(from.strides[d], expected, from.sizes[d], Dim(1))) return false;
    expected = expected * from.sizes[d];
  }
  return true;
}

MemoryFormat suggested_format(const Layout& from, SizeFacts& facts) {
  for (MemoryFormat format : {MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
    if (has_rank_of(format, from.sizes.size()) && strides_like(from, format, facts)) return format;
  }
  return MemoryFormat::contiguous;
}

bool can_view(const Layout& from, const Dims& target, SizeFacts& facts) {
  if (from.sizes == target || from.sizes.empty() || product(from.sizes) == Dim(0)) return true;
  SizeFacts dense = facts;
  if (is_contiguous(from, MemoryFormat::contiguous, dense) &&
      dense.assumed().size() == facts.assumed().size()) {
    return true;
  }
  size_t to = target.size();
  Dim run(1), seen(1), stride = from.strides.back();
  for (size_t i = from.sizes.size(); i-- > 0;) {
    run = run * from.sizes[i];
    if (i > 0 && facts.either_equal(from.strides[i - 1], run * stride, from.sizes[i - 1], Dim(1))) {
      continue;
    }
    while (to > 0 && (facts.less(seen, run) || facts.equal(target[to - 1], Dim(1)))) {
      seen = seen * target[--to];
    }
    if (!facts.equal(seen, run)) return false;
    if (i > 0) stride = from.strides[i - 1];
    run = seen = Dim(1);
  }
  return to == 0;
}

std::optional<std::vector<int64_t>> dense_order(const Layout& layout) {
  const size_t rank = layout.sizes.size();
  std::vector<int64_t> order;
  if (product(layout.sizes) == Dim(0)) {
    order.resize(rank);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<bool> taken(rank, false);
  Dim expected(1);
  for (bool found = true; found;) {
    found = false;
    for (size_t i = rank; i-- > 0;) {
      if (taken[i] || layout.strides[i] != expected || layout.sizes[i] == Dim(1)) continue;
      taken[i] = found = true;
      order.insert(order.begin(), static_cast<int64_t>(i));
      expected = expected * layout.sizes[i];
    }
  }
  for (size_t i = rank; i-- > 0;) {
    if (taken[i]) continue;
    if (layout.sizes[i] != Dim(1)) return std::nullopt;
    order.insert(order.begin(), static_cast<int64_t>(i));
  }
  return order;
}

bool never_overlaps(const Layout& layout, const Graph& model) {
  std::vector<size_t> left;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == Dim(0)) return true;
    if (layout.sizes[i] != Dim(1)) left.push_back(i);
  }
  // Axis by axis outwards: a step along the next one must lead beyond all elements so far.
  Dim reach(0);
  while (!left.empty()) {
    auto next = std::find_if(left.begin(), left.end(), [&](size_t i) {
      const Dim& stride = layout.strides[i];
      return std::all_of(left.begin(), left.end(), [&](size_t j) {
        SizeFacts facts(model);
        return !facts.less(layout.strides[j], stride) && facts.decided() && facts.assumed().empty();
      });
    });
    if (next == left.end()) return false;
    SizeFacts facts(model);
    if (!facts.less(reach, layout.strides[*next]) || !facts.assumed().empty()) return false;
    reach = reach + (layout.sizes[*next] - Dim(1)) * layout.strides[*next];
    left.erase(next);
  }
  return true;
}

bool has_axes_of(const Layout& view, Layout base) {
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] == Dim(1)) continue;
    size_t at = 0;
    while (at < base.sizes.size() &&
           (base.sizes[at] != view.sizes[i] || base.strides[at] != view.strides[i])) {
      ++at;
    }
    if (at == base.sizes.size()) return false;
    base.sizes[at] = Dim(1);
  }
  return true;
}

}  // namespace qc::pt2
