#include "ir/dim.h"

#include <algorithm>
#include <utility>

#include "support/budget.h"

namespace qc {
namespace {
enum class Fn : uint8_t { symbol, floordiv, mod, min, max };
constexpr std::string_view kFnNames[] = {"", "floordiv", "mod", "min", "max"};

thread_local uint64_t overflow_count = 0;

// Sums and products that do not fit wrap, as they do in models; `Dim::overflows` counts them.
int64_t wrap_add(int64_t a, int64_t b) {
  int64_t r;
  overflow_count += __builtin_add_overflow(a, b, &r);
  return r;
}
int64_t wrap_mul(int64_t a, int64_t b) {
  int64_t r;
  overflow_count += __builtin_mul_overflow(a, b, &r);
  return r;
}
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap_mul(a, -1);
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

constexpr int kMaxDepth = 500;     // of functions in arguments of functions
constexpr size_t kMaxDegree = 64;  // more factors than bits fit only where most of them are 1
}  // namespace

/// A product of atoms is kept as its atoms' texts, sorted: the text of a normal form is unique, so
/// it serves as the key.
struct Dim::Expr {
  struct Atom {
    Fn fn;
    std::string text;
    std::vector<Dim> args;  // two for functions, none for a symbol
    int depth;              // functions around the innermost argument
  };
  struct Term {
    std::vector<std::shared_ptr<const Atom>> atoms;  // sorted by text
    int64_t factor;
  };
  std::map<std::string, Term> terms;  // key: atoms' texts joined by '*'
  int64_t constant = 0;
};

struct DimBuilder {
  using Expr = Dim::Expr;
  using Atoms = std::vector<std::shared_ptr<const Expr::Atom>>;

  static Dim finish(Expr expr) {
    std::erase_if(expr.terms, [](const auto& entry) { return entry.second.factor == 0; });
    if (expr.terms.empty()) return Dim(expr.constant);
    Dim d;
    d.expr_ = std::make_shared<const Expr>(std::move(expr));
    return d;
  }
  static void add_term(Expr& expr, Atoms atoms, int64_t factor) {
    if (atoms.empty()) {
      expr.constant = wrap_add(expr.constant, factor);
      return;
    }
    if (atoms.size() > kMaxDegree) refuse(Code::limit, "a symbolic size has too many factors");
    std::sort(atoms.begin(), atoms.end(),
              [](const auto& a, const auto& b) { return a->text < b->text; });
    std::string key;
    for (const auto& atom : atoms) key += (key.empty() ? "" : "*") + atom->text;
    spend(Cost::terms, 1 + static_cast<int64_t>(key.size()) / 16);
    auto [it, fresh] = expr.terms.try_emplace(std::move(key));
    if (fresh) it->second = {std::move(atoms), 0};
    it->second.factor = wrap_add(it->second.factor, factor);
  }
  static void add_scaled(Expr& expr, const Dim& d, int64_t factor) {
    if (d.is_static()) {
      expr.constant = wrap_add(expr.constant, wrap_mul(d.value_, factor));
      return;
    }
    expr.constant = wrap_add(expr.constant, wrap_mul(d.expr_->constant, factor));
    for (const auto& [key, term] : d.expr_->terms) {
      add_term(expr, term.atoms, wrap_mul(term.factor, factor));
    }
  }
  static int depth_of(const Dim& d) {
    int depth = 0;
    if (d.is_static()) return depth;
    for (const auto& [key, term] : d.expr_->terms) {
      for (const auto& atom : term.atoms) depth = std::max(depth, atom->depth);
    }
    return depth;
  }
  static Dim atom(Fn fn, std::string text, std::vector<Dim> args) {
    int depth = 0;
    for (const Dim& d : args) depth = std::max(depth, 1 + depth_of(d));
    if (depth > kMaxDepth) refuse(Code::limit, "a symbolic size is nested too deeply");
    Expr expr;
    auto a =
        std::make_shared<const Expr::Atom>(Expr::Atom{fn, std::move(text), std::move(args), depth});
    add_term(expr, {std::move(a)}, 1);
    return finish(std::move(expr));
  }
  static Dim apply_fn(Fn fn, const Dim& a, const Dim& b) {
    std::string text =
        std::string(kFnNames[static_cast<int>(fn)]) + "(" + a.str() + ", " + b.str() + ")";
    return atom(fn, std::move(text), {a, b});
  }
  static Dim applied(Fn fn, const Dim& a, const Dim& b);
  static Dim with_atom(const Dim& d, const std::string& text, const Dim& other);
  static std::optional<Dim> without_remainders(const Dim& d, const SymbolBounds& symbols, bool up);
  /// The sum of products again, of atoms made anew from the innermost on.
  template <class Symbol, class Apply>
  static Dim rebuilt(const Dim& d, const Symbol& symbol, const Apply& apply);
  /// a / b when b is a non-zero number that divides every factor of a.
  static std::optional<Dim> exact_div(const Dim& a, int64_t b) {
    if (b == 0 || a.is_static()) return std::nullopt;
    if (b == -1) return Dim(-1) * a;  // the least number has no quotient with -1
    Expr expr;
    if (a.expr_->constant % b != 0) return std::nullopt;
    expr.constant = a.expr_->constant / b;
    for (const auto& [key, term] : a.expr_->terms) {
      if (term.factor % b != 0) return std::nullopt;
      add_term(expr, term.atoms, term.factor / b);
    }
    return finish(std::move(expr));
  }
};

Dim Dim::symbol(std::string_view name) {
  return DimBuilder::atom(Fn::symbol, std::string(name), {});
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return wrap_add(a.value_, b.value_);
  Dim::Expr expr;
  DimBuilder::add_scaled(expr, a, 1);
  DimBuilder::add_scaled(expr, b, 1);
  return DimBuilder::finish(std::move(expr));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return wrap_mul(a.value_, b.value_);
  Dim::Expr expr;
  if (a.is_static() || b.is_static()) {
    DimBuilder::add_scaled(expr, a.is_static() ? b : a, a.is_static() ? a.value_ : b.value_);
    return DimBuilder::finish(std::move(expr));
  }
  DimBuilder::add_scaled(expr, a, b.expr_->constant);
  for (const auto& [key, term] : b.expr_->terms) {
    DimBuilder::add_term(expr, term.atoms, wrap_mul(term.factor, a.expr_->constant));
    for (const auto& [key_a, term_a] : a.expr_->terms) {
      auto atoms = term.atoms;
      atoms.insert(atoms.end(), term_a.atoms.begin(), term_a.atoms.end());
      DimBuilder::add_term(expr, std::move(atoms), wrap_mul(term.factor, term_a.factor));
    }
  }
  return DimBuilder::finish(std::move(expr));
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return floor_div(a.value_, b.value_);
  if (b == Dim(1)) return a;
  if (a == b) return 1;
  if (b.is_static()) {
    if (auto exact = DimBuilder::exact_div(a, b.value_)) return *exact;
  }
  return DimBuilder::apply_fn(Fn::floordiv, a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return floor_mod(a.value_, b.value_);
  if (b == Dim(1) || a == b) return 0;
  if (b.is_static() && DimBuilder::exact_div(a, b.value_)) return 0;
  return DimBuilder::apply_fn(Fn::mod, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return std::min(a.value_, b.value_);
  if (a == b) return a;
  return b.str() < a.str() ? DimBuilder::apply_fn(Fn::min, b, a)
                           : DimBuilder::apply_fn(Fn::min, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return std::max(a.value_, b.value_);
  if (a == b) return a;
  return b.str() < a.str() ? DimBuilder::apply_fn(Fn::max, b, a)
                           : DimBuilder::apply_fn(Fn::max, a, b);
}

bool Dim::operator==(const Dim& other) const {
  if (is_static() || other.is_static()) {
    return is_static() && other.is_static() && value_ == other.value_;
  }
  if (expr_ == other.expr_) return true;
  if (expr_->constant != other.expr_->constant ||
      expr_->terms.size() != other.expr_->terms.size()) {
    return false;
  }
  return std::equal(expr_->terms.begin(), expr_->terms.end(), other.expr_->terms.begin(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.factor == b.second.factor;
                    });
}

Dim DimBuilder::applied(Fn fn, const Dim& a, const Dim& b) {
  switch (fn) {
    case Fn::floordiv:
      return floordiv(a, b);
    case Fn::mod:
      return mod(a, b);
    case Fn::min:
      return min(a, b);
    case Fn::max:
      return max(a, b);
    case Fn::symbol:
      break;
  }
  return a;
}

template <class Symbol, class Apply>
Dim DimBuilder::rebuilt(const Dim& d, const Symbol& symbol, const Apply& apply) {
  if (d.is_static()) return d;
  spend(Cost::terms, static_cast<int64_t>(d.expr_->terms.size()));
  Dim sum(d.expr_->constant);
  for (const auto& [key, term] : d.expr_->terms) {
    Dim part(term.factor);
    for (const auto& atom : term.atoms) {
      part = part * (atom->fn == Fn::symbol ? symbol(atom->text)
                                            : apply(atom->fn, rebuilt(atom->args[0], symbol, apply),
                                                    rebuilt(atom->args[1], symbol, apply)));
    }
    sum = sum + part;
  }
  return sum;
}

Dim Dim::substitute(const Bindings& bindings) const {
  const auto bound = [&](const std::string& name) {
    const auto found = bindings.find(name);
    return found != bindings.end() ? Dim(found->second) : symbol(name);
  };
  return DimBuilder::rebuilt(*this, bound, DimBuilder::applied);
}

Dim Dim::within(const SymbolBounds& symbols) const {
  const auto same = [](const std::string& name) { return symbol(name); };
  const auto decided = [&](Fn fn, const Dim& a, const Dim& b) {
    if (fn == Fn::min || fn == Fn::max) {
      const Bounds more = (a - b).bounds(symbols);
      if (more.min >= 0) return fn == Fn::max ? a : b;
      if (more.max <= 0) return fn == Fn::max ? b : a;
    }
    return DimBuilder::applied(fn, a, b);
  };
  return DimBuilder::rebuilt(*this, same, decided);
}

void Dim::collect_symbols(std::set<std::string>& out) const {
  if (is_static()) return;
  spend(Cost::terms, static_cast<int64_t>(expr_->terms.size()));
  for (const auto& [key, term] : expr_->terms) {
    for (const auto& atom : term.atoms) {
      if (atom->fn == Fn::symbol) out.insert(atom->text);
      for (const Dim& arg : atom->args) arg.collect_symbols(out);
    }
  }
}

std::string Dim::str() const {
  if (is_static()) return std::to_string(value_);
  std::string out;
  for (const auto& [key, term] : expr_->terms) {
    int64_t f = term.factor;
    if (!out.empty()) {
      out += f < 0 ? " - " : " + ";
      f = f < 0 ? wrap_mul(f, -1) : f;
    } else if (f == -1) {
      out += "-";
      f = 1;
    }
    if (f != 1) out += std::to_string(f) + "*";
    out += key;
  }
  int64_t c = expr_->constant;
  if (c != 0) out += (c < 0 ? " - " : " + ") + std::to_string(c < 0 ? wrap_mul(c, -1) : c);
  return out;
}

std::string Dim::str(const Notation& notation) const {
  if (is_static()) return std::to_string(value_);
  std::string out;
  for (const auto& [key, term] : expr_->terms) {
    std::string text = term.factor == 1 ? "" : std::to_string(term.factor);
    for (const auto& atom : term.atoms) {
      if (!text.empty()) text += " * ";
      text += atom->fn == Fn::symbol
                  ? notation.symbol(atom->text)
                  : notation.apply(kFnNames[static_cast<int>(atom->fn)],
                                   atom->args[0].str(notation), atom->args[1].str(notation));
    }
    out += (out.empty() ? "" : " + ") + text;
  }
  return expr_->constant == 0 ? out : out + " + " + std::to_string(expr_->constant);
}

namespace {

int64_t clamped(__int128 n) {
  return static_cast<int64_t>(std::clamp<__int128>(n, INT64_MIN, INT64_MAX));
}
Bounds sum(const Bounds& a, const Bounds& b) {
  return {clamped(__int128{a.min} + b.min), clamped(__int128{a.max} + b.max)};
}
/// Whether an operation that is monotone in each operand has its extremes at the corners.
template <class F>
Bounds of_corners(const Bounds& a, const Bounds& b, F&& f) {
  const int64_t all[] = {f(a.min, b.min), f(a.min, b.max), f(a.max, b.min), f(a.max, b.max)};
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
}
Bounds product(const Bounds& a, const Bounds& b) {
  return of_corners(a, b, [](int64_t x, int64_t y) { return clamped(__int128{x} * y); });
}

Bounds applied(Fn fn, const Bounds& a, const Bounds& b) {
  constexpr Bounds kAnything{INT64_MIN, INT64_MAX};
  switch (fn) {
    case Fn::floordiv:
      if (b.min <= 0 && b.max >= -1) return kAnything;
      return of_corners(a, b, floor_div);
    case Fn::mod:
      if (b.min < 0) return kAnything;
      if (b.max == 0) return {0, 0};
      return a.min >= 0 && a.max < b.min ? a : Bounds{0, b.max - 1};
    case Fn::min:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case Fn::max:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case Fn::symbol:
      break;
  }
  return kAnything;
}

}  // namespace

/// The dim with remainders replaced by numbers that make it smaller, or larger with `up`, and that
/// keep what they have to do with their divisor: mod(a, s) becomes s - 1 in s - mod(a, s), of which
/// the interval of each term says too little. Nothing where there is none.
std::optional<Dim> DimBuilder::without_remainders(const Dim& d, const SymbolBounds& symbols,
                                                  bool up) {
  const auto at_least = [&](const Dim& x) { return x.bounds(symbols).min; };
  const uint64_t overflows = overflow_count;
  bool replaced = false;
  Dim sum(d.expr_->constant);
  for (const auto& [key, term] : d.expr_->terms) {
    std::optional<size_t> at;
    for (size_t i = 0; i < term.atoms.size() && (term.factor > 0) == up; ++i) {
      const Expr::Atom& atom = *term.atoms[i];
      if (atom.fn == Fn::mod && !atom.args[1].is_static() && at_least(atom.args[1]) >= 0) at = i;
    }
    Dim rest(1);
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i == at) continue;
      Expr one;
      add_term(one, {term.atoms[i]}, 1);
      rest = rest * finish(std::move(one));
    }
    if (at && at_least(rest) >= 0) {
      const Dim& divisor = term.atoms[*at]->args[1];
      sum = sum + rest * (at_least(divisor) > 0 ? divisor - 1 : divisor) * Dim(term.factor);
      replaced = true;
      continue;
    }
    Expr same;
    add_term(same, term.atoms, term.factor);
    sum = sum + finish(std::move(same));
  }
  const bool exact = std::exchange(overflow_count, overflows) == overflows;
  return replaced && exact ? std::optional(sum) : std::nullopt;
}

/// The dim with another one in place of an atom of its terms.
Dim DimBuilder::with_atom(const Dim& d, const std::string& text, const Dim& other) {
  Dim sum(d.expr_->constant);
  for (const auto& [key, term] : d.expr_->terms) {
    Dim part(term.factor);
    for (const auto& atom : term.atoms) {
      Expr one;
      add_term(one, {atom}, 1);
      part = part * (atom->text == text ? other : finish(std::move(one)));
    }
    sum = sum + part;
  }
  return sum;
}

Bounds Dim::bounds(const SymbolBounds& symbols) const {
  if (is_static()) return {value_, value_};
  spend(Cost::terms, static_cast<int64_t>(expr_->terms.size()));
  Bounds total{expr_->constant, expr_->constant};
  bool remainders = false;
  for (const auto& [key, term] : expr_->terms) {
    Bounds part{term.factor, term.factor};
    for (const auto& atom : term.atoms) {
      if (atom->fn != Fn::symbol) {
        part = product(
            part, applied(atom->fn, atom->args[0].bounds(symbols), atom->args[1].bounds(symbols)));
        remainders = remainders || (atom->fn == Fn::mod && !atom->args[1].is_static());
        continue;
      }
      const auto found = symbols.find(atom->text);
      part = product(part, found == symbols.end() ? Bounds{0, INT64_MAX} : found->second);
    }
    total = sum(total, part);
  }
  if (!remainders) return total;
  if (const auto least = DimBuilder::without_remainders(*this, symbols, false))
    total.min = std::max(total.min, least->bounds(symbols).min);
  if (const auto most = DimBuilder::without_remainders(*this, symbols, true))
    total.max = std::min(total.max, most->bounds(symbols).max);
  return total;
}

Bounds Dim::bounds_by_cases(const SymbolBounds& symbols, int cases) const {
  const Bounds all = bounds(symbols);
  if (is_static() || cases < 2) return all;
  for (const auto& [key, term] : expr_->terms) {
    for (const auto& atom : term.atoms) {
      if (atom->fn != Fn::min && atom->fn != Fn::max) continue;
      const uint64_t overflows = overflow_count;
      const Bounds a = DimBuilder::with_atom(*this, atom->text, atom->args[0])
                           .bounds_by_cases(symbols, cases / 2);
      const Bounds b = DimBuilder::with_atom(*this, atom->text, atom->args[1])
                           .bounds_by_cases(symbols, cases / 2);
      if (std::exchange(overflow_count, overflows) != overflows) return all;
      return {std::max(all.min, std::min(a.min, b.min)), std::min(all.max, std::max(a.max, b.max))};
    }
  }
  return all;
}

uint64_t Dim::overflows() { return overflow_count; }

Dim product(const Dims& dims) {
  Dim p(1);
  for (const Dim& d : dims) p = p * d;
  return p;
}

bool all_static(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_static(); });
}

std::vector<int64_t> static_dims(const Dims& dims) {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const Dim& d : dims) out.push_back(d.value());
  return out;
}

Dims to_dims(const std::vector<int64_t>& dims) { return Dims(dims.begin(), dims.end()); }

std::string str(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
  return out + "]";
}

}  // namespace qc

template class std::vector<qc::Dim>;
