#include "ir/index_formula.h"
#include "ir/padding.h"
#include "ir/relations.h"
#include "ops/common/importing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "quant/lifting.h"
#include "support/checked.h"

namespace qc {

/// The operand repeated along axes of size one (and new leading axes) to fill `shape`.
class Expand final : public ViewNode<Expand>,
                     public HasFormula,
                     public MovesScales,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;
  Dims shape;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("shape", shape); }

  Result<Ok> pad(PaddedNode& c) override {
    Padding to(shape.size());
    const Padding& from = c.padding(0);
    for (size_t i = 0; i < shape.size(); ++i) {
      const size_t extra = shape.size() - from.size();
      if (i >= extra) to[i] = from[i - extra];
      if (to[i].empty() && c.dim().in(shape[i])) to[i] = {{shape[i], true}};
    }
    shape = c.dim().resized(shape);
    c.set_result(std::move(to));
    return Ok{};
  }
  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    const size_t extra = shape.size() - x.shape.size();
    bool fits = x.shape.size() <= shape.size();
    for (size_t i = 0; fits && i < x.shape.size(); ++i) {
      const Dim &from = x.shape[i], &to = shape[extra + i];
      fits = from == to || from == Dim(1) || !from.is_static() || !to.is_static();
    }
    for (const Dim& d : shape) fits = fits && !(d.is_static() && d.value() < 0);
    if (!fits) return error(Code::shape, loc(), "cannot expand {} to {}", str(x.shape), str(shape));
    return std::vector<Type>{moved(x, shape)};
  }
  bool is_identity() const override { return shape == input_type(0).shape; }
  std::optional<Dims> contents() const override {
    auto x = known_ints(input(0));
    const Dim total = product(shape);
    if (!x || !total.is_static() || total.value() < 0 || total.value() > 256) return std::nullopt;
    if (x->size() == 1) return Dims(static_cast<size_t>(total.value()), (*x)[0]);
    if (x->size() == static_cast<size_t>(total.value())) return x;
    return std::nullopt;
  }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    return in.broadcast(0, input_type(0).shape, shape);
  }
  Result<Ok> lower(Lowering& l) const override {
    const Dims& from = l.in_type(0).shape;
    for (size_t i = 0; i < from.size(); ++i) {
      const Dim& to = shape[shape.size() - from.size() + i];
      if (from[i] == Dim(1) || from[i] == to) continue;
      return error(Code::unsupported, loc(),
                   "size {} becomes {}, and it depends on the sizes whether elements are repeated: "
                   "give numbers with --dim",
                   from[i].str(), to.str());
    }
    return ViewNode::lower(l);
  }
  /// Elements that are repeated have the scale of the one they repeat.
  Laid laid_over(size_t, const Format& result) const override {
    if (product(shape).bounds(output()->graph()->symbol_bounds()).min < 1) {
      return {{}, kOtherElements};
    }
    if (result.granularity == Granularity::tensor) return {result, {}};
    const Dims& from = input_type(0).shape;
    const int64_t axis = result.axis - (std::ssize(shape) - std::ssize(from));
    const bool unchanged =
        axis >= 0 && from[static_cast<size_t>(axis)] == shape[static_cast<size_t>(result.axis)];
    const bool grid = result.granularity == Granularity::group && !result.is_dynamic();
    if (!unchanged || grid) return {{}, kTornApart};
    Format format = result;
    format.axis = axis;
    return {std::move(format), {}};
  }
  std::unique_ptr<Node> scale_mover(const Format& result) const override {
    if (result.granularity != Granularity::group) return nullptr;
    auto node = std::make_unique<Expand>(*this);
    node->shape = scale_shape(result, shape);
    return node;
  }
  Strided view(const Dims& x, const Dims& y) const {
    Strided s{shape, Dims(shape.size()), y};
    const Dims& from = input_type(0).shape;
    for (size_t i = 0; i < from.size(); ++i) {
      if (!(from[i] == Dim(1))) s.from[shape.size() - from.size() + i] = x[i];
    }
    return s;
  }
};

const OpInfo Expand::kInfo = {
    .name = "expand",
    .traits = kMovesElements | kAnyLayout | kRepeats,
    .summary = "the operand repeated along axes of size one to fill a shape",
};

/// The operand laid side by side repeats[i] times along axis i.
class Tile final : public ViewNode<Tile> {
 public:
  static const OpInfo kInfo;
  Dims repeats;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("repeats", repeats); }
  bool is_identity() const override { return repeats == Dims(repeats.size(), Dim(1)); }

  Result<std::vector<Type>> infer() const override {
    const Type& x = input_type(0);
    if (repeats.size() != x.shape.size()) {
      return error(Code::attribute, loc(), "{} repeats for {}", repeats.size(), str(x));
    }
    Dims shape;
    for (size_t i = 0; i < repeats.size(); ++i) {
      if (exceeds(0, repeats[i])) {
        return error(Code::attribute, loc(), "{} repeats along axis {}", repeats[i].str(), i);
      }
      if (repeats[i].is_static() && x.shape[i].is_static() &&
          !checked_mul(x.shape[i].value(), repeats[i].value())) {
        return error(Code::limit, loc(), "{} repeats of axis {} of {}", repeats[i].value(), i,
                     str(x.shape));
      }
      shape.push_back(x.shape[i] * repeats[i]);
    }
    return std::vector<Type>{moved(x, shape)};
  }
  std::optional<Dims> contents() const override {
    auto x = known_ints(input(0));
    if (!x || repeats.size() != 1 || !repeats[0].is_static()) return std::nullopt;
    const int64_t times = repeats[0].value(), size = static_cast<int64_t>(x->size());
    if (times > 256 || times * size > 256) return std::nullopt;
    Dims out;
    for (int64_t i = 0; i < times; ++i) out.insert(out.end(), x->begin(), x->end());
    return out;
  }
  /// Each axis of the output is two axes: the repeats, along which the operand stands still, and
  /// the operand's own.
  Strided view(const Dims& x, const Dims& y) const {
    Strided s;
    for (size_t i = 0; i < x.size(); ++i) {
      const Dim& size = input_type(0).shape[i];
      s.dims.insert(s.dims.end(), {repeats[i], size});
      s.from.insert(s.from.end(), {0, x[i]});
      s.to.insert(s.to.end(), {y[i] * size, y[i]});
    }
    return s;
  }
};

const OpInfo Tile::kInfo = {
    .name = "tile",
    .traits = kMovesElements | kAnyLayout,
    .summary = "the operand laid side by side a number of times along each axis",
};

namespace {

Result<Values> onnx_expand(Import& m) {
  if (!m.has(1)) return m.fail(Code::graph, "the new shape is missing");
  QC_ASSIGN(Dims shape, m.known(m.in(1), "the new shape"));
  QC_ASSIGN(shape, broadcast(m.in(0)->shape(), shape, m.loc()));
  return one(expanded(m, m.in(0), shape));
}

/// Sizes of -1 keep the operand's.
Result<Values> aten_expand(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims shape, m.dims("size"));
  if (shape.size() < x->shape().size()) {
    return m.fail(Code::shape, "cannot expand {} to {}", str(x->shape()), str(shape));
  }
  const size_t extra = shape.size() - x->shape().size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == Dim(-1))) continue;
    if (i < extra) return m.fail(Code::shape, "a new axis of an expanded shape has size -1");
    shape[i] = x->shape()[i - extra];
  }
  return one(expanded(m, x, shape));
}

Result<Values> aten_expand_as(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * other, m.tensor("other"));
  return one(expanded(m, x, other->shape()));
}

Result<Values> aten_broadcast_tensors(Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  Dims shape;
  for (Value* v : parts) {
    if (!v) return m.fail(Code::graph, "a tensor of the list is missing");
    QC_ASSIGN(shape, broadcast(shape, v->shape(), m.loc()));
  }
  for (Value*& v : parts) {
    QC_ASSIGN(v, expanded(m, v, shape));
  }
  return parts;
}

Result<Values> aten_meshgrid(Import& m) {
  QC_ASSIGN(Values parts, m.tensors("tensors"));
  QC_ASSIGN(std::string indexing, m.s("indexing", "ij"));
  for (Value* v : parts) {
    if (!v || v->rank() > 1) return m.fail(Code::shape, "meshgrid takes vectors and scalars");
  }
  // "xy" counts the first two axes the other way round.
  const bool xy = indexing == "xy" && parts.size() > 1;
  auto position = [&](size_t i) { return xy && i < 2 ? 1 - i : i; };
  Dims shape(parts.size(), Dim(1));
  for (size_t i = 0; i < parts.size(); ++i) shape[position(i)] = product(parts[i]->shape());
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims own(parts.size(), Dim(1));
    own[position(i)] = shape[position(i)];
    QC_ASSIGN(parts[i], reshaped(m, parts[i], own));
    QC_ASSIGN(parts[i], expanded(m, parts[i], shape));
  }
  return parts;
}

Result<Values> tiled(const Import& m, Value* x, Dims repeats) {
  Dims shape = x->shape();
  if (repeats.size() < shape.size())
    repeats.insert(repeats.begin(), shape.size() - repeats.size(), Dim(1));
  shape.insert(shape.begin(), repeats.size() - shape.size(), Dim(1));
  QC_ASSIGN(x, reshaped(m, x, shape));
  if (repeats == Dims(repeats.size(), Dim(1))) return Values{x};
  return one(m.emit("tile", {x}, {{"repeats", repeats}}));
}

Result<Values> onnx_tile(Import& m) {
  if (!m.has(1)) return m.fail(Code::graph, "repeats are missing");
  QC_ASSIGN(Dims repeats, m.known(m.in(1), "repeats"));
  return tiled(m, m.in(0), repeats);
}

/// Version 1 repeats along one axis given as a scalar operand.
Result<Values> onnx_tile_axis(Import& m) {
  if (!m.has(1) || !m.has(2)) return onnx_tile(m);
  QC_ASSIGN(Ints times, m.known_static(m.in(1), "tiles"));
  QC_ASSIGN(Ints axis, m.known_static(m.in(2), "axis"));
  if (times.size() != 1 || axis.size() != 1)
    return m.fail(Code::shape, "tiles and axis are not scalars");
  QC_ASSIGN(int64_t at, resolve_axis(axis[0], m.in(0)->rank(), m.loc()));
  Dims repeats(m.in(0)->shape().size(), Dim(1));
  repeats[static_cast<size_t>(at)] = Dim(times[0]);
  return tiled(m, m.in(0), repeats);
}

Result<Values> aten_repeat(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims repeats, m.dims(m.given("repeats") ? "repeats" : "dims"));
  return tiled(m, x, repeats);
}

/// Every element `repeats` times in a row along `dim` (of the flattened operand without one).
Result<Values> aten_repeat_interleave(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dim repeats, m.dim("repeats", Dim(1)));
  int64_t axis = 0;
  if (m.given("dim")) {
    QC_ASSIGN(axis, m.i("dim", 0));
  } else {
    QC_ASSIGN(x, reshaped(m, x, {product(x->shape())}));
  }
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  Dims shape = x->shape(), wide = shape;
  wide.insert(wide.begin() + axis + 1, Dim(1));
  QC_ASSIGN(Value * y, reshaped(m, x, wide));
  wide[static_cast<size_t>(axis) + 1] = repeats;
  QC_ASSIGN(y, expanded(m, y, wide));
  shape[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] * repeats;
  return one(reshaped(m, y, shape));
}

constexpr ImportRow kRows[] = {
    {"", "Expand", onnx_expand},
    {"", "Tile", onnx_tile_axis},
    {"", "Tile", onnx_tile, 6},
    {"aten", "expand.default", aten_expand, 1, Alias::view},
    {"aten", "expand_copy.default", aten_expand},
    {"aten", "broadcast_to.default", aten_expand, 1, Alias::view},
    {"aten", "expand_as.default", aten_expand_as, 1, Alias::view},
    {"aten", "broadcast_tensors.default", aten_broadcast_tensors, 1, Alias::view},
    {"aten", "meshgrid.default", aten_meshgrid, 1, Alias::view},
    {"aten", "meshgrid.indexing", aten_meshgrid, 1, Alias::view},
    {"aten", "repeat.default", aten_repeat},
    {"aten", "tile.default", aten_repeat},
    {"aten", "repeat_interleave.self_int", aten_repeat_interleave},
};

}  // namespace

void register_expand(Registration& r) {
  r.op<Expand>();
  r.op<Tile>();
  r.imports(kRows);
}

}  // namespace qc
