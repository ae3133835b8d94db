#include "ir/index_formula.h"

#include <algorithm>
#include <limits>

#include "ir/capability.h"
#include "support/budget.h"

namespace qc {
namespace {

/// Numbers up to this size are added and multiplied by steps without leaving 64 bits.
constexpr int64_t kLargest = int64_t{1} << 40;
constexpr int64_t kLargestStep = int64_t{1} << 20;
constexpr int64_t kReadBytes = int64_t{1} << 20;  // of a constant that is read for its formula

Bounds range_of(DType dtype) {
  const int width = std::min(bits(dtype), 62);
  const int64_t half = int64_t{1} << (width - 1);
  const Bounds all = is_signed(dtype) ? Bounds{-half, half - 1} : Bounds{0, 2 * half - 1};
  return {std::max(all.min, -kLargest), std::min(all.max, kLargest)};
}

/// Indices of a tensor, from element to element.
class Positions {
 public:
  explicit Positions(const Ints& shape) : shape_(shape), at_(shape.size()) {}
  const Ints& at() const { return at_; }
  void next() {
    for (size_t a = at_.size(); a-- > 0 && ++at_[a] == shape_[a];) at_[a] = 0;
  }

 private:
  const Ints& shape_;
  Ints at_;
};

int64_t value_at(const Affine& term, const Ints& at) {
  int64_t out = term.base.value();
  for (size_t a = 0; a < at.size(); ++a) out += term.step[a] * at[a];
  return out;
}

/// Whether the formula gives every element of the tensor.
bool describes(const IndexFormula& formula, const Tensor& t) {
  Positions position(t.shape());
  for (int64_t i = 0; i < t.size(); ++i, position.next()) {
    int64_t value = formula.is_truth ? 1 : 0;
    for (const Affine& term : formula.terms) {
      const int64_t v = value_at(term, position.at());
      value = formula.is_truth ? value & int64_t{v >= 0} : v;
    }
    if (value != t.as_int(i)) return false;
  }
  return true;
}

/// Steps as the second element along each axis has them.
std::optional<IndexFormula> affine_of(const Tensor& t) {
  Affine term{Dim(t.as_int(0)), Ints(t.shape().size())};
  int64_t stride = 1;
  for (size_t a = t.shape().size(); a-- > 0; stride *= t.shape()[a]) {
    if (t.shape()[a] == 1) continue;
    const int64_t second = t.as_int(stride), first = t.as_int(0);
    if (std::abs(second) > kLargestStep || std::abs(first) > kLargestStep) return std::nullopt;
    term.step[a] = second - first;
  }
  return IndexFormula{false, {std::move(term)}};
}

/// All of one kind, or a band of ones along the diagonal of the last two axes: its limits are where
/// the first matrix changes.
std::optional<IndexFormula> band_of(const Tensor& t) {
  const size_t rank = t.shape().size();
  IndexFormula out = IndexFormula::truth(t.as_int(0) != 0, rank);
  if (rank < 2 || describes(out, t)) return out;
  out = IndexFormula::truth(true, rank);
  const int64_t rows = t.shape()[rank - 2], columns = t.shape()[rank - 1];
  std::optional<int64_t> below, above;  // row i has ones from i - below to i + above
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 1; j < columns; ++j) {
      const int64_t before = t.as_int(i * columns + j - 1), here = t.as_int(i * columns + j);
      if (before > here) above = j - 1 - i;
      if (before < here) below = i - j;
    }
  }
  for (const int sign : {1, -1}) {
    const std::optional<int64_t>& limit = sign > 0 ? above : below;
    if (!limit) continue;
    Affine& term = out.terms.emplace_back(Affine{Dim(*limit), Ints(rank)});
    term.step[rank - 2] = sign;
    term.step[rank - 1] = -sign;
  }
  return out;
}

}  // namespace

bool Affine::is_even() const {
  return std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 0; });
}

Affine Affine::times(int64_t factor) const {
  Affine out{base * Dim(factor), step};
  for (int64_t& s : out.step) s *= factor;
  return out;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine out{a.base + b.base, a.step};
  for (size_t i = 0; i < out.step.size(); ++i) out.step[i] += b.step[i];
  return out;
}

Affine operator-(const Affine& a, const Affine& b) { return a + b.times(-1); }

IndexFormula IndexFormula::number(Dim value, size_t rank) {
  return {false, {{std::move(value), Ints(rank)}}};
}

IndexFormula IndexFormula::truth(bool value, size_t rank) {
  if (value) return {true, {}};
  return {true, {{Dim(-1), Ints(rank)}}};
}

std::optional<int64_t> IndexFormula::known() const {
  if (is_truth && terms.empty()) return 1;
  if (terms.size() != 1 || !terms[0].is_even() || !terms[0].base.is_static()) return std::nullopt;
  const int64_t base = terms[0].base.value();
  return is_truth ? int64_t{base >= 0} : base;
}

bool IndexFormula::is_even() const {
  return std::all_of(terms.begin(), terms.end(), [](const Affine& t) { return t.is_even(); });
}

std::optional<IndexFormula> even_formula(const IndexFormula* formula, size_t rank) {
  if (!formula || !formula->is_even()) return std::nullopt;
  IndexFormula out = *formula;
  for (Affine& term : out.terms) term.step.assign(rank, 0);
  return out;
}

bool FormulaOperands::same(const Dim& a, const Dim& b) const {
  return a == b || a.within(symbols_) == b.within(symbols_);
}

std::optional<IndexFormula> FormulaOperands::broadcast(size_t i, const Dims& from,
                                                       const Dims& to) const {
  if (!formulas_[i] || from.size() > to.size()) return std::nullopt;
  IndexFormula out = *formulas_[i];
  const size_t extra = to.size() - from.size();
  for (size_t a = 0; a < from.size(); ++a) {
    if (from[a] == Dim(1) || same(from[a], to[extra + a])) continue;
    return std::nullopt;
  }
  for (Affine& term : out.terms) term.step.insert(term.step.begin(), extra, 0);
  return out;
}

IndexFormulas::IndexFormulas(const Graph& graph)
    : symbols_(graph.symbol_bounds()), formulas_(graph.value_bound()), read_(graph.value_bound()) {
  for (Node* n = graph.first(); n; n = n->next()) {
    Value* out = n->output_count() == 1 ? n->output() : nullptr;
    if (!out || is_float(out->dtype()) || out->type().format) continue;
    std::optional<IndexFormula>& to = formulas_[out->number()];
    to = of_contents(out);
    const auto* op = capability<const HasFormula>(n);
    if (to || !op) continue;
    std::vector<const IndexFormula*> operands;
    for (const Value* v : n->inputs()) operands.push_back(v ? of(v) : nullptr);
    std::optional<IndexFormula> made = op->formula(FormulaOperands(operands, symbols_));
    if (made) to = checked(std::move(*made), out->type());
  }
}

const IndexFormula* IndexFormulas::of(const Value* value) {
  if (value->number() >= formulas_.size()) return nullptr;
  std::optional<IndexFormula>& found = formulas_[value->number()];
  if (value->is_constant() && !read_[value->number()]) {
    read_[value->number()] = true;
    found = of_contents(value);
  }
  return found ? &*found : nullptr;
}

/// Of a value whose elements are known: one number, or those of a constant.
std::optional<IndexFormula> IndexFormulas::of_contents(const Value* value) const {
  if (is_float(value->dtype()) || value->type().format) return std::nullopt;
  ConstantPool& pool = value->graph()->pool();
  if (value->is_constant() && pool.byte_size(value->constant()) <= kReadBytes) {
    const Result<Tensor> t = pool.get(value->constant());
    if (!t.ok() || t->size() == 0) return std::nullopt;
    spend(Cost::work, t->size());
    std::optional<IndexFormula> found =
        value->dtype() == DType::boolean ? band_of(*t) : affine_of(*t);
    if (!found || !describes(*found, *t)) return std::nullopt;
    return checked(std::move(*found), value->type());
  }
  const std::optional<Dims> all = known_ints(value);
  if (!all || all->empty()) return std::nullopt;
  for (const Dim& d : *all) {
    if (!(d == all->front())) return std::nullopt;
  }
  const auto rank = static_cast<size_t>(value->rank());
  if (value->dtype() != DType::boolean)
    return checked(IndexFormula::number(all->front(), rank), value->type());
  if (!all->front().is_static()) return std::nullopt;
  return IndexFormula::truth(all->front().value() != 0, rank);
}

Bounds IndexFormulas::bounds(const Affine& term, const Dims& shape) const {
  Dim low = term.base, high = term.base;
  for (size_t a = 0; a < shape.size(); ++a) {
    const Dim last = (shape[a] - Dim(1)) * Dim(term.step[a]);
    (term.step[a] < 0 ? low : high) = (term.step[a] < 0 ? low : high) + last;
  }
  return {low.bounds(symbols_).min, high.bounds(symbols_).max};
}

std::optional<NumberRun> IndexFormulas::run_below(const Value* value, const Dim& end) {
  const IndexFormula* formula = of(value);
  if (!formula || formula->is_truth || !end.is_static()) return std::nullopt;
  const Affine& term = formula->terms.front();
  NumberRun out{term.base, Dim(1), 1, std::nullopt};
  for (size_t a = 0; a < value->shape().size(); ++a) {
    if (term.step[a] == 0) continue;
    if (out.axis || term.step[a] < 0) return std::nullopt;
    out.axis = a;
    out.count = value->shape()[a];
    out.step = term.step[a];
  }
  const Bounds b = bounds(term, value->shape());
  if (b.min < 0 || b.max >= end.value()) return std::nullopt;
  return out;
}

/// The formula without what is decided by the sizes; nullopt where a number could leave its type,
/// or comes near the limits within which formulas are exact.
std::optional<IndexFormula> IndexFormulas::checked(IndexFormula formula, const Type& type) const {
  for (const Dim& d : type.shape) {
    if (d.bounds(symbols_).max > kLargestStep) return std::nullopt;
  }
  std::vector<Affine> retained;
  const Bounds range = formula.is_truth ? Bounds{-kLargest, kLargest} : range_of(type.dtype);
  for (Affine& term : formula.terms) {
    for (size_t a = 0; a < term.step.size(); ++a) {
      if (type.shape[a] == Dim(1)) term.step[a] = 0;
      if (std::abs(term.step[a]) > kLargestStep) return std::nullopt;
    }
    const Bounds b = bounds(term, type.shape);
    if (b.min < range.min || b.max > range.max) return std::nullopt;
    if (formula.is_truth && b.min >= 0) continue;
    if (formula.is_truth && b.max < 0) return IndexFormula::truth(false, type.shape.size());
    retained.push_back(std::move(term));
  }
  formula.terms = std::move(retained);
  return formula;
}

Result<Value*> emit_expanded(Graph& graph, Value* value, const Dims& shape, const Loc& loc,
                             Node* before) {
  return graph.emit("expand", {value}, {{"shape", shape}}, loc, before);
}

Result<Value*> emit_repeated(Graph& graph, int64_t number, const Type& type, const Loc& loc,
                             Node* before) {
  Tensor one(type.dtype, {});
  one.set_int(0, number);
  Value* value = graph.constant(std::move(one));
  if (type.shape.empty()) return value;
  return emit_expanded(graph, value, type.shape, loc, before);
}

}  // namespace qc
