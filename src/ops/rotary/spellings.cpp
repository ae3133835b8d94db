// Rotary embeddings as models write them, back to one op. Of the elements of a row that make a pair
// one is in its first half and one in the second, or they are neighbours. Models take the two
// halves by slices, or by an axis of two that they split off, and write
//   x * cos + r(x) * sin, r(x) being the halves put together again with one of them negated, or
//   the four products a * cos - b * sin and b * cos + a * sin of halves, put together.
#include <optional>

#include "ir/op_table.h"
#include "ops/common/attribute.h"
#include "ops/rotary/rotary.h"

namespace qc {
namespace {

using P = Pattern;

constexpr Value* kNoRotation = nullptr;

/// Every `step`-th element of the rows of x from `start` on, half of them, in their order.
struct Half {
  Value* x = nullptr;
  int64_t start = 0, step = 1;
  bool negated = false;
  Loc loc;  // of the nodes between x and the half

  bool is_pair_of(const Half& other) const { return x == other.x && step == other.step; }
  /// Whether it has the first elements of the pairs; the other half has the second ones.
  bool is_first() const { return start == 0; }
};

/// The value up to which only the shape differs, and which has this shape; null where none has.
Value* with_shape(Value* v, const Dims& shape) {
  while (v->shape() != shape) {
    if (!v->def() || v->def()->op() != "reshape") return nullptr;
    v = v->def()->input(0);
  }
  return v;
}

/// The operand that a node negates; null where it does something else.
Value* negated_by(Node* node) {
  if (node->op() == "neg") return node->input(0);
  Match m;
  if (!P::op("mul", {P::any("x"), P::constant("", -1)}).match(node, m)) return nullptr;
  return m.value("x");
}

/// Which elements of rows of `row` elements a slice takes, where that is half of each row.
std::optional<Half> half_by_slice(const Node& slice, int64_t row) {
  const Dims& from = slice.input(0)->shape();
  const Dims start = attribute<Dims>(slice, "start"), size = attribute<Dims>(slice, "size");
  const Dims step = attribute<Dims>(slice, "step");
  std::optional<size_t> axis;
  for (size_t i = 0; i < from.size(); ++i) {
    if (start[i] == Dim(0) && size[i] == from[i] && step[i] == Dim(1)) continue;
    if (axis) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  const Dim inner = product(Dims(from.begin() + static_cast<ptrdiff_t>(*axis) + 1, from.end()));
  for (const Dim& d : {inner, from[*axis], start[*axis], size[*axis], step[*axis]}) {
    if (!d.is_static()) return std::nullopt;
  }
  const int64_t half = row / 2, first = start[*axis].value(), by = step[*axis].value();
  const auto taken = [](int64_t from_element, int64_t every) {
    Half half;
    half.start = from_element;
    half.step = every;
    return half;
  };
  const bool one_of_two = from[*axis] == Dim(2) && size[*axis] == Dim(1);
  if (inner == Dim(1) && from[*axis] == Dim(row) && size[*axis] == Dim(half)) {
    if (by == 1 && (first == 0 || first == half)) return taken(first, 1);
    if (by == 2 && (first == 0 || first == 1)) return taken(first, 2);
  }
  if (one_of_two && inner == Dim(half)) return taken(first * half, 1);
  if (one_of_two && inner == Dim(1)) return taken(first, 2);
  return std::nullopt;
}

/// What half of the rows of a value of `shape` this is.
std::optional<Half> half_of(Value* v, const Dims& shape) {
  Loc loc;
  bool negated = false;
  Node* node = v->def();
  for (; node && node->op() != "slice"; node = v->def()) {
    Value* positive = negated_by(node);
    if (!positive && node->op() != "reshape") return std::nullopt;
    negated = negated != (positive != nullptr);
    loc = join(node->loc(), loc);
    v = positive ? positive : node->input(0);
  }
  if (!node) return std::nullopt;
  std::optional<Half> half = half_by_slice(*node, shape.back().value());
  if (half) half->x = with_shape(node->input(0), shape);
  if (!half || !half->x) return std::nullopt;
  half->negated = negated;
  half->loc = join(node->loc(), loc);
  return half;
}

/// Whether a concat puts halves back as pairs that lie so, in rows of `row` elements.
bool joins(const Node& concat, bool interleaved, int64_t row) {
  const Dims& slice = concat.input(0)->shape();
  const auto axis = static_cast<ptrdiff_t>(attribute<int64_t>(concat, "axis"));
  return product(Dims(slice.begin() + axis, slice.end())) == Dim(interleaved ? 1 : row / 2);
}

bool can_rotate(const Type& type) {
  return is_float(type.dtype) && bits(type.dtype) >= 16 && type.rank() >= 1 && type.rank() <= 8 &&
         type.shape.back().is_static() && type.shape.back().value() % 2 == 0;
}

/// Whether these are angles for values of this shape.
bool are_angles(const Value* angles, DType type, const Dims& shape, const Loc& loc) {
  auto both = broadcast(shape, angles->shape(), loc);
  return angles->dtype() == type && both.ok() && *both == shape;
}

Result<Value*> sum_of_rotated(Graph& graph, const Match& m) {
  const Type& result = m.root()->output()->type();
  if (!can_rotate(result)) return kNoRotation;
  const auto upper = half_of(m.value("upper"), result.shape);
  const auto lower = half_of(m.value("lower"), result.shape);
  // Of a rotate the other way, (b, -a) in place of (-b, a), the sines are negative.
  if (!upper || !lower || !upper->is_pair_of(*lower) || upper->negated == lower->negated ||
      upper->is_first() || !lower->is_first())
    return kNoRotation;
  const bool interleaved = upper->step == 2;
  if (!joins(*m.node("pairs"), interleaved, result.shape.back().value())) return kNoRotation;
  const Node& plain = *m.node("plain");
  if (plain.input(0) != upper->x && plain.input(1) != upper->x) return kNoRotation;
  Value* cos = plain.input(plain.input(0) == upper->x ? 1 : 0);
  Value* sin = m.value("sin");
  for (const Value* angles : {cos, sin}) {
    if (!are_angles(angles, upper->x->dtype(), result.shape, m.loc())) return kNoRotation;
  }
  const Loc loc = join(join(lower->loc, upper->loc), m.loc());
  if (lower->negated) {
    QC_ASSIGN(sin, graph.emit("neg", {sin}, {}, loc, m.root()));
  }
  return graph.emit("rotary", {upper->x, cos, sin}, {{"interleaved", interleaved}}, loc, m.root());
}

/// a * cos - b * sin and b * cos + a * sin, a and b halves of the same rows.
struct Products {
  Half a, b;
  Value *cos, *sin;
};

bool multiplies(const Node& mul, const Value* a, const Value* b) {
  return (mul.input(0) == a && mul.input(1) == b) || (mul.input(0) == b && mul.input(1) == a);
}

std::optional<Products> products_of(const Match& m, const Dims& shape) {
  const Node &minuend = *m.node("minuend"), &subtrahend = *m.node("subtrahend");
  for (size_t i = 0; i < 4; ++i) {
    Value *va = minuend.input(i % 2), *vb = subtrahend.input(i / 2);
    const auto a = half_of(va, shape), b = half_of(vb, shape);
    if (!a || !b || !a->is_pair_of(*b) || a->negated || b->negated || !a->is_first() ||
        b->is_first())
      continue;
    Products out{*a, *b, minuend.input(1 - i % 2), subtrahend.input(1 - i / 2)};
    const Node &one = *m.node("one"), &other = *m.node("other");
    if ((multiplies(one, vb, out.cos) && multiplies(other, va, out.sin)) ||
        (multiplies(other, vb, out.cos) && multiplies(one, va, out.sin)))
      return out;
  }
  return std::nullopt;
}

/// Angles of pairs as those of their elements, each twice.
Result<Value*> of_elements(Graph& graph, const Match& m, Value* angles, bool interleaved) {
  Dims shape = angles->shape(), columns = shape;
  shape.back() = shape.back() * Dim(2);
  if (interleaved) {
    columns.push_back(Dim(1));
    QC_ASSIGN(angles, graph.emit("reshape", {angles}, {{"shape", columns}}, m.loc(), m.root()));
  }
  const auto axis = static_cast<int64_t>(columns.size()) - 1;
  QC_ASSIGN(angles, graph.emit("concat", {angles, angles}, {{"axis", axis}}, m.loc(), m.root()));
  if (!interleaved) return angles;
  return graph.emit("reshape", {angles}, {{"shape", shape}}, m.loc(), m.root());
}

/// Rows with their neighbours apart: elements 0, 2, 4, ..., then 1, 3, 5, ...
Result<Value*> sorted_by_halves(Graph& graph, const Match& m, Value* x) {
  Dims pairs = x->shape();
  pairs.back() = Dim(pairs.back().value() / 2);
  pairs.push_back(Dim(2));
  Ints perm(pairs.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  QC_ASSIGN(Value * y, graph.emit("reshape", {x}, {{"shape", pairs}}, m.loc(), m.root()));
  QC_ASSIGN(y, graph.emit("transpose", {y}, {{"perm", perm}}, m.loc(), m.root()));
  return graph.emit("reshape", {y}, {{"shape", x->shape()}}, m.loc(), m.root());
}

Result<Value*> four_products(Graph& graph, const Match& m) {
  const Type& result = m.root()->output()->type();
  if (!can_rotate(result)) return kNoRotation;
  const auto found = products_of(m, result.shape);
  const int64_t row = result.shape.back().value();
  const bool interleaved = joins(*m.node("pairs"), true, row);
  if (!found || (!interleaved && !joins(*m.node("pairs"), false, row)) ||
      (interleaved && found->a.step == 1 && row > 2))
    return kNoRotation;
  Dims halves = result.shape;
  halves.back() = Dim(row / 2);
  if (m.node("minuend")->output()->shape() != halves) return kNoRotation;
  for (const Value* angles : {found->cos, found->sin}) {
    if (!are_angles(angles, result.dtype, halves, m.loc()) || angles->shape().empty() ||
        !(angles->shape().back() == halves.back()))
      return kNoRotation;
  }
  std::vector<Value*> inputs{found->a.x, found->cos, found->sin};
  for (size_t i = 1; i < 3; ++i) {
    QC_ASSIGN(inputs[i], of_elements(graph, m, inputs[i], interleaved));
  }
  if (found->a.step == 2 && !interleaved) {
    QC_ASSIGN(inputs[0], sorted_by_halves(graph, m, inputs[0]));
  }
  return graph.emit("rotary", inputs, {{"interleaved", interleaved}},
                    join(join(found->a.loc, found->b.loc), m.loc()), m.root());
}

P product_of_two(const char* slot) { return P::op("mul", {P::any(""), P::any("")}, slot); }

P rotated_sum() {
  const P pairs = P::op("concat", {P::any("upper"), P::any("lower")}, "pairs");
  return P::op(
      "add", {product_of_two("plain"), P::op("mul", {P::maybe("reshape", pairs), P::any("sin")})});
}

P joined_products() {
  const P first = P::op("sub", {product_of_two("minuend"), product_of_two("subtrahend")});
  const P second = P::op("add", {product_of_two("one"), product_of_two("other")});
  return P::op("concat", {P::maybe("reshape", first), P::maybe("reshape", second)}, "pairs");
}

}  // namespace

std::span<const Rewrite> rotary_spellings() {
  static const Rewrite rewrites[] = {
      {"rotary_sum", rotated_sum(), sum_of_rotated},
      {"rotary_products", joined_products(), four_products},
      {"rotary_interleaved_products", P::op("reshape", {joined_products()}), four_products},
  };
  return rewrites;
}

}  // namespace qc
