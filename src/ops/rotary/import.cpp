// Rotary embeddings of ONNX: tables of one angle per pair, picked by position, and heads as an axis
// or side by side.
#include "ops/common/importing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/rotary/rotary.h"

namespace qc {
namespace {

struct Rotation {
  Value *x, *cos, *sin;  // x [batch, heads, positions, depth] or [batch, positions, heads * depth]
  Value* ids = nullptr;  // rows of cos and sin, [batch, positions]; null: they are [batch,
                         // positions, depth / 2]
  int64_t heads = 0;     // of x with three axes; 0: as the depth of cos says
  int64_t rotated = 0;   // how many elements of each head rotate; 0: all
  bool interleaved = false;  // pairs are neighbours, not halves
};

/// The table's angles for every element: each twice, as its pair lies.
Result<Value*> angles(const Import& m, const Rotation& r, Value* table, bool heads_first,
                      const Dim& half) {
  if (r.ids) {
    QC_ASSIGN(table, m.emit("gather", {table, r.ids}, {{"axis", int64_t{0}}}));
  }
  Dims s = table->shape();
  if (s.size() != 3 || (s[2].is_static() && half.is_static() && !(s[2] == half))) {
    return m.fail(Code::shape, "angles of shape {} turn {} pairs", str(s), half.str());
  }
  s.insert(s.begin() + (heads_first ? 1 : 2), Dim(1));
  Dims slices = s;
  if (r.interleaved) slices.push_back(Dim(1));
  QC_ASSIGN(table, reshaped(m, table, slices));
  QC_ASSIGN(table,
            m.emit("concat", {table, table}, {{"axis", r.interleaved ? int64_t{4} : int64_t{3}}}));
  s[3] = s[3] * Dim(2);
  return reshaped(m, table, s);
}

Result<Values> rotated(const Import& m, Rotation r) {
  const Dims shape = r.x->shape();
  const bool heads_first = shape.size() == 4;
  if (shape.size() != 3 && shape.size() != 4) {
    return m.fail(Code::shape, "a rotary embedding of shape {}", str(shape));
  }
  if (!heads_first) {
    const Dim width = shape[2], half = r.cos->shape().empty() ? Dim(0) : r.cos->shape().back();
    if (r.heads == 0 && half.is_static() && half.value() > 0 && width.is_static() &&
        r.rotated == 0) {
      r.heads = width.value() / (2 * half.value());
    }
    if (r.heads < 1 || (width.is_static() && width.value() % r.heads != 0)) {
      return m.fail(Code::attribute, "{} values of {} heads", width.str(), r.heads);
    }
    QC_ASSIGN(r.x,
              reshaped(m, r.x, {shape[0], shape[1], Dim(r.heads), floordiv(width, Dim(r.heads))}));
  }
  const Dims s = r.x->shape();
  const Dim depth = s[3];
  if (!depth.is_static() || r.rotated < 0 || r.rotated > depth.value()) {
    return m.fail(Code::attribute, "{} of {} elements turn", r.rotated, depth.str());
  }
  const int64_t rotated = r.rotated ? r.rotated : depth.value(), half = rotated / 2;
  if (rotated % 2 != 0)
    return m.fail(Code::attribute, "an odd number of elements turns: {}", rotated);
  QC_ASSIGN(Value * cos, angles(m, r, r.cos, heads_first, Dim(half)));
  QC_ASSIGN(Value * sin, angles(m, r, r.sin, heads_first, Dim(half)));
  QC_ASSIGN(Value * y, take(m, r.x, 3, {Dim(0), Dim(rotated), Dim(1)}));
  QC_ASSIGN(y, m.emit("rotary", {y, cos, sin}, {{"interleaved", r.interleaved}}));
  if (rotated < depth.value()) {
    QC_ASSIGN(Value * rest, take(m, r.x, 3, {Dim(rotated), Dim(depth.value() - rotated), Dim(1)}));
    QC_ASSIGN(y, m.emit("concat", {y, rest}, {{"axis", int64_t{3}}}));
  }
  return one(reshaped(m, y, shape));
}

Result<Ok> read_attributes(const Import& m, Rotation& r) {
  QC_ASSIGN(r.interleaved, m.b("interleaved", false));
  QC_ASSIGN(r.rotated, m.i("rotary_embedding_dim", 0));
  QC_ASSIGN(r.heads, m.i("num_heads", 0));
  return Ok{};
}

Result<Values> onnx_rotary(Import& m) {
  Rotation r{};
  QC_ASSIGN(r.x, operand(m, 0));
  QC_ASSIGN(r.cos, operand(m, 1));
  QC_ASSIGN(r.sin, operand(m, 2));
  r.ids = m.in(3);
  QC_TRY(read_attributes(m, r));
  return rotated(m, r);
}

Result<Values> microsoft_rotary(Import& m) {
  Rotation r{};
  QC_ASSIGN(r.x, operand(m, 0));
  QC_ASSIGN(r.ids, operand(m, 1));
  QC_ASSIGN(r.cos, operand(m, 2));
  QC_ASSIGN(r.sin, operand(m, 3));
  QC_TRY(read_attributes(m, r));
  if (r.x->rank() != 3 && r.x->rank() != 4) {
    return m.fail(Code::shape, "a rotary embedding of shape {}", str(r.x->shape()));
  }
  if (r.ids->rank() == 1) {  // the first position of all sequences
    const Dim n = r.x->shape()[r.x->rank() == 4 ? 2 : 1];
    QC_ASSIGN(Value * positions, m.emit("iota", {}, {{"size", n}, {"dtype", r.ids->dtype()}}));
    QC_ASSIGN(positions, m.emit("add", {positions, r.ids}));
    QC_ASSIGN(r.ids, reshaped(m, positions, {Dim(1), n}));
  }
  return rotated(m, r);
}

constexpr ImportRow kRows[] = {
    {"", "RotaryEmbedding", onnx_rotary, 23},
    {"com.microsoft", "RotaryEmbedding", microsoft_rotary},
};

}  // namespace

void register_rotary(Registration& r) {
  r.op<Rotary>();
  r.op(&RotaryQuantize::kStatic, [] { return std::make_unique<RotaryQuantize>(false); });
  r.op(&RotaryQuantize::kDynamic, [] { return std::make_unique<RotaryQuantize>(true); });
  r.imports(kRows);
  r.rewrites(rotary_spellings());
  r.rewrites(rotary_rewrites());
}

}  // namespace qc
