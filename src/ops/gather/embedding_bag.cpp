// embedding_bag: rows of a table, picked and reduced bag by bag.
#include "ops/common/compose.h"
#include "ops/gather/gather.h"

namespace qc {
namespace {

Value* counting(const Import& m, int64_t n) {
  Tensor t(DType::i64, {n});
  for (int64_t i = 0; i < n; ++i) t.set_int(i, i);
  return m.graph().constant(std::move(t));
}

/// The rows of bags that all have the same size, known when compiling; 0: they have not.
int64_t even_bag_size(const Import& m, Value* offsets, int64_t bags, int64_t rows) {
  Result<Ints> starts = m.known_static(offsets, "the offsets");
  if (!starts.ok() || bags == 0 || rows == 0 || rows % bags != 0) return 0;
  for (int64_t b = 0; b < bags; ++b) {
    if (starts.value()[static_cast<size_t>(b)] != b * (rows / bags)) return 0;
  }
  return rows / bags;
}

/// Whether row i belongs to bag b, as [bags, rows, 1]: from the bag's offset on, before the next.
Value* membership(Compose& c, Value* offsets, int64_t bags, int64_t rows, bool has_end) {
  const Import& m = c.import();
  auto part = [&](int64_t from, int64_t size) {
    return c.emit("slice", {offsets},
                  {{"start", Ints{from}}, {"size", Ints{size}}, {"step", Ints{1}}});
  };
  Value *from = part(0, bags), *end;
  if (has_end) {
    end = part(1, bags);
  } else {
    Value* last = c.reshape(m.scalar_int(rows, offsets->dtype()), {Dim(1)});
    end = bags > 1 ? c.emit("concat", {part(1, bags - 1), last}, {{"axis", int64_t{0}}}) : last;
  }
  Value* row = c.reshape(c.cast(counting(m, rows), offsets->dtype()), {Dim(rows), Dim(1)});
  const Dims column{Dim(bags), Dim(1), Dim(1)};
  return c.emit("logical_and", {c.emit("ge", {row, c.reshape(from, column)}),
                                c.emit("lt", {row, c.reshape(end, column)})});
}

/// Sum, mean or maximum of the rows of each bag; rows of the padding index count for nothing, and a
/// bag without rows is zero.
Result<Values> aten_embedding_bag(Import& m) {
  enum Mode : int64_t { kSum, kMean, kMax };
  Compose c(m);
  Value* table = c.take(m.tensor("weight"));
  Value* index = c.take(m.tensor("indices"));
  Value* offsets = c.take(m.tensor("offsets"));
  Value* weights = c.take(m.optional_tensor("per_sample_weights"));
  const int64_t mode = c.take(m.i("mode", kSum));
  const bool has_end = c.take(m.b("include_last_offset", false));
  int64_t padding = c.take(m.i("padding_idx", -1));
  if (!c.ok()) return c.done({});
  if (m.wants(1) || m.wants(2) || m.wants(3))
    return m.fail(Code::unsupported, "only the first output of embedding_bag can be read");
  const bool known =
      all_static(table->shape()) && all_static(index->shape()) && all_static(offsets->shape());
  if (table->rank() != 2 || index->rank() != 1 || offsets->rank() != 1 || !known) {
    return m.fail(known ? Code::shape : Code::dim,
                  "embedding_bag of {} with indices {} and offsets {}", str(table->type()),
                  str(index->type()), str(offsets->type()));
  }
  if (mode < kSum || mode > kMax || (weights && mode != kSum))
    return m.fail(Code::attribute, "mode {}{}", mode, weights ? " with weights" : "");
  const int64_t rows = index->shape()[0].value(), width = table->shape()[1].value();
  const int64_t bags = offsets->shape()[0].value() - (has_end ? 1 : 0);
  if (bags < 0) return m.fail(Code::shape, "include_last_offset without offsets");
  if (padding < 0 && m.node().op == "embedding_bag.padding_idx" && m.given("padding_idx"))
    padding += table->shape()[0].value();

  // [bags or 1, rows of a bag or of all, width], and which of them count.
  const int64_t each = even_bag_size(m, offsets, bags, rows);
  const Dims lead{Dim(each ? bags : 1), Dim(each ? each : rows)}, column{lead[0], lead[1], Dim(1)};
  Value* x = c.emit("gather", {table, index}, {{"axis", int64_t{0}}});
  x = c.reshape(x, {lead[0], lead[1], Dim(width)});
  if (weights) x = c.emit("mul", {x, c.reshape(weights, column)});
  Value* counts = each ? nullptr : membership(c, offsets, bags, rows, has_end);
  if (padding >= 0) {
    Value* other = c.emit("ne", {index, m.scalar_int(padding, index->dtype())});
    other = c.reshape(other, column);
    counts = counts ? c.emit("logical_and", {counts, other}) : other;
  }
  const AttrMap rows_axis{{"axes", Ints{1}}, {"keepdims", false}};
  if (!c.ok()) return c.done({});
  if (!counts) {
    constexpr std::string_view kReduce[] = {"reduce_sum", "reduce_mean", "reduce_max"};
    return c.done({c.emit(kReduce[mode], {x}, rows_axis)});
  }
  x = c.emit("where", {counts, x, c.number(mode == kMax ? -kInf : 0.0, x)});
  x = c.emit(mode == kMax ? "reduce_max" : "reduce_sum", {x}, rows_axis);
  if (mode == kSum || !c.ok()) return c.done({x});
  Value* size = c.emit("reduce_sum", {c.cast(counts, x->dtype())}, rows_axis);
  if (mode == kMean) return c.done({c.emit("div", {x, c.emit("clamp", {size}, {{"lo", 1.0}})})});
  Value* empty = c.emit("eq", {size, c.number(0, x)});
  return c.done({c.emit("where", {empty, c.number(0, x), x})});
}

constexpr ImportRow kBagRows[] = {
    {"aten", "embedding_bag.default", aten_embedding_bag},
    {"aten", "embedding_bag.padding_idx", aten_embedding_bag},
    {"aten", "_embedding_bag.default", aten_embedding_bag},
    {"aten", "_embedding_bag_forward_only.default", aten_embedding_bag},
};

}  // namespace

std::span<const ImportRow> embedding_bag_rows() { return kBagRows; }

}  // namespace qc
