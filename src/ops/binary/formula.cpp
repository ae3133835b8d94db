// Binary ops on values that depend on indices and sizes alone.
#include "ops/binary/binary.h"

namespace qc {
namespace {

constexpr int64_t kLargestFactor = int64_t{1} << 20;

using Formula = std::optional<IndexFormula>;

Formula number(Affine term) { return IndexFormula{false, {std::move(term)}}; }
Formula not_negative(Affine term) { return IndexFormula{true, {std::move(term)}}; }

Formula product(const IndexFormula& a, const IndexFormula& b) {
  const std::optional<int64_t> by = b.known();
  if (!by) return a.known() ? product(b, a) : std::nullopt;
  if (*by > kLargestFactor || *by < -kLargestFactor) return std::nullopt;
  return number(a.terms[0].times(*by));
}

Affine less(Affine term) {
  term.base = term.base - Dim(1);
  return term;
}

Formula equal(const IndexFormula& a, const IndexFormula& b) {
  const Affine more = a.terms[0] - b.terms[0];
  return IndexFormula{true, {more, more.times(-1)}};
}

/// Where they are known to be equal or not to be: an inequality has two sides.
Formula differ(const IndexFormula& a, const IndexFormula& b) {
  const Affine more = a.terms[0] - b.terms[0];
  if (!more.is_even() || !more.base.is_static()) return std::nullopt;
  return IndexFormula::truth(more.base.value() != 0, more.step.size());
}

Formula both(const IndexFormula& a, const IndexFormula& b) {
  IndexFormula out = a;
  for (const Affine& term : b.terms) out.terms.push_back(term);
  return out;
}

Formula either(const IndexFormula& a, const IndexFormula& b) {
  const auto is = [](const IndexFormula& f, int64_t value) { return f.known() == value; };
  if (is(a, 1) || is(b, 0)) return a;
  if (is(b, 1) || is(a, 0)) return b;
  return std::nullopt;
}

struct Row {
  std::string_view function;
  bool of_truths;
  Formula (*combine)(const IndexFormula& a, const IndexFormula& b);
};

constexpr Row kRows[] = {
    {"add", false, [](auto& a, auto& b) { return number(a.terms[0] + b.terms[0]); }},
    {"sub", false, [](auto& a, auto& b) { return number(a.terms[0] - b.terms[0]); }},
    {"mul", false, product},
    {"ge", false, [](auto& a, auto& b) { return not_negative(a.terms[0] - b.terms[0]); }},
    {"gt", false, [](auto& a, auto& b) { return not_negative(less(a.terms[0] - b.terms[0])); }},
    {"le", false, [](auto& a, auto& b) { return not_negative(b.terms[0] - a.terms[0]); }},
    {"lt", false, [](auto& a, auto& b) { return not_negative(less(b.terms[0] - a.terms[0])); }},
    {"eq", false, equal},
    {"ne", false, differ},
    {"and", true, both},
    {"or", true, either},
};

}  // namespace

Formula Binary::formula(const FormulaOperands& in) const {
  const Formula a = in.broadcast(0, input_type(0).shape, output()->shape());
  const Formula b = in.broadcast(1, input_type(1).shape, output()->shape());
  if (!a || !b) return std::nullopt;
  for (const Row& row : kRows) {
    if (op_->function.name == row.function && a->is_truth == row.of_truths)
      return row.combine(*a, *b);
  }
  return std::nullopt;
}

}  // namespace qc
