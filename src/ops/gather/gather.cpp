#include "ops/gather/gather.h"

#include <cstring>

#include "ir/relations.h"
#include "kernels/gather/calls.h"
#include "kernels/numerics/index.h"
#include "ops/common/index.h"

namespace qc {
namespace {

/// Emits a call whose sizes are set.
template <class KernelCall>
void emit_gather(Lowering& l, KernelCall& c) {
  c.index = name(l.in_type(1).dtype);
  c.x = l.in(0);
  c.indices = l.in(1);
  c.y = l.out();
  l.emit(c);
}

void copy_block(const Tensor& x, int64_t from, Tensor& y, int64_t to, int64_t block) {
  std::memcpy(y.mutable_bytes().data() + to * block, x.bytes().data() + from * block,
              static_cast<size_t>(block));
}

}  // namespace

const OpInfo Gather::kInfo = {
    .name = "gather",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kMovesElements,
    .summary = "slices along an axis at listed places; indices outside it are clamped",
};

Result<std::vector<Type>> Gather::infer() const {
  const Type &x = input_type(0), &index = input_type(1);
  QC_TRY(check_index(index, loc()));
  if (axis < 0 || axis >= x.rank()) {
    return error(Code::attribute, loc(), "axis {} is out of range for rank {}", axis, x.rank());
  }
  QC_TRY(check_pick(x.shape[static_cast<size_t>(axis)], index.shape, loc()));
  Dims shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return std::vector<Type>{moved(x, shape)};
}

Laid Gather::laid_over(size_t, const Format& result) const {
  const bool found = result.is_dynamic(), groups = result.granularity == Granularity::group;
  if (found && !groups) return {{}, kOtherElements};
  if (result.granularity == Granularity::tensor) return {result, {}};
  // Scales of groups that are known are those of each place.
  const int64_t positions = input_type(1).rank();
  if ((!found && groups) || (result.axis >= axis && result.axis < axis + positions))
    return {{}, found ? kOtherElements : kKnownForSlice};
  Format out = result;
  if (result.axis >= axis) out.axis += 1 - positions;
  return {std::move(out), {}};
}

std::unique_ptr<Node> Gather::scale_mover(const Format& result) const {
  return result.granularity == Granularity::group ? clone() : nullptr;
}

Result<Value*> Gather::emit_run(Graph& graph, const NumberRun& run, Node* before) const {
  const auto at = static_cast<size_t>(axis);
  const Dims& x = input_type(0).shape;
  Dims start(x.size(), 0), size = x, step(x.size(), 1);
  start[at] = run.start;
  size[at] = run.count;
  step[at] = run.step;
  QC_ASSIGN(Value * part,
            graph.emit("slice", {input(0)}, {{"start", start}, {"size", size}, {"step", step}},
                       loc(), before));
  Dims once = output()->shape();
  for (size_t i = 0; i < input_type(1).shape.size(); ++i) {
    if (run.axis != i) once[at + i] = 1;
  }
  QC_ASSIGN(part, graph.emit("reshape", {part}, {{"shape", once}}, loc(), before));
  if (once == output()->shape()) return part;
  return graph.emit("expand", {part}, {{"shape", output()->shape()}}, loc(), before);
}

std::optional<Dims> Gather::contents() const {
  auto x = known_ints(input(0)), index = known_ints(input(1));
  if (!x || !index || input_type(0).rank() != 1 || !all_static(*index) || x->empty())
    return std::nullopt;
  Dims out;
  for (const Dim& i : *index) {
    out.push_back((*x)[static_cast<size_t>(qn_index(i.value(), static_cast<int64_t>(x->size())))]);
  }
  return out;
}

Result<Ok> Gather::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &index = c.in(1);
  const size_t a = static_cast<size_t>(axis);
  const int64_t outer = extent(x.shape(), 0, a), size = x.shape()[a];
  const int64_t block =
      extent(x.shape(), a + 1, x.shape().size()) * static_cast<int64_t>(bytes(x.dtype()));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < index.size(); ++i) {
      copy_block(x, o * size + qn_index(index.as_int(i), size), c.out(0), o * index.size() + i,
                 block);
    }
  }
  return Ok{};
}

Result<Ok> Gather::lower(Lowering& l) const {
  const Dims x = l.in_dims(0);
  const size_t a = static_cast<size_t>(axis);
  const Dim size = static_cast<int64_t>(bytes(l.in_type(0).dtype));
  if (count(l.out_dims()) == 0) return Ok{};
  kernel::Gather p;
  QC_ASSIGN(p.outer, l.param(extent(x, 0, a)));
  QC_ASSIGN(p.size, l.param(x[a]));
  QC_ASSIGN(p.count, l.param(count(l.in_dims(1))));
  QC_ASSIGN(p.block, l.param(extent(x, a + 1, x.size()) * size));
  emit_gather(l, p);
  return Ok{};
}

const OpInfo GatherElements::kInfo = {
    .name = "gather_elements",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kMovesElements,
    .summary = "one element per index, along an axis; indices outside it are clamped",
};

Result<std::vector<Type>> GatherElements::infer() const {
  const Type &x = input_type(0), &index = input_type(1);
  QC_TRY(check_index(index, loc()));
  if (index.rank() != x.rank()) {
    return error(Code::shape, loc(), "index {} and data {} differ in rank", str(index), str(x));
  }
  if (axis < 0 || axis >= x.rank()) {
    return error(Code::attribute, loc(), "axis {} is out of range for rank {}", axis, x.rank());
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const Dim &from = x.shape[i], &to = index.shape[i];
    if (static_cast<int64_t>(i) == axis) continue;
    if (exceeds(to, from)) {
      return error(Code::shape, loc(), "index {} is larger than data {} along axis {}", str(index),
                   str(x), i);
    }
  }
  QC_TRY(check_pick(x.shape[static_cast<size_t>(axis)], index.shape, loc()));
  return std::vector<Type>{moved(x, index.shape)};
}

Result<Ok> GatherElements::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &index = c.in(1);
  const Ints strides = strides_of(x.shape()), own = strides_of(index.shape());
  const size_t a = static_cast<size_t>(axis);
  for (int64_t i = 0; i < index.size(); ++i) {
    int64_t from = qn_index(index.as_int(i), x.shape()[a]) * strides[a];
    for (size_t d = 0; d < strides.size(); ++d) {
      if (d != a) from += i / own[d] % index.shape()[d] * strides[d];
    }
    copy_block(x, from, c.out(0), i, static_cast<int64_t>(bytes(x.dtype())));
  }
  return Ok{};
}

Result<Ok> GatherElements::lower(Lowering& l) const {
  Dims strides = strides_of(l.in_dims(0));
  const size_t a = static_cast<size_t>(axis);
  if (count(l.out_dims()) == 0) return Ok{};
  QC_TRY(l.param(count(l.in_dims(0))));
  kernel::GatherElements p;
  QC_ASSIGN(p.size, l.param(l.in_dims(0)[a]));
  p.stride = strides[a];
  p.block = static_cast<int32_t>(bytes(l.in_type(0).dtype));
  strides[a] = 0;
  QC_TRY(fill_params(p.dims, l.in_dims(1), 1, loc()));
  QC_TRY(fill_params(p.xs, strides, 0, loc()));
  emit_gather(l, p);
  return Ok{};
}

const OpInfo GatherNd::kInfo = {
    .name = "gather_nd",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kMovesElements,
    .summary = "slices at tuples of indices; indices outside their axis are clamped",
};

Result<std::vector<Type>> GatherNd::infer() const {
  const Type &x = input_type(0), &index = input_type(1);
  QC_TRY(check_index(index, loc()));
  if (index.rank() < 1 || batch_dims < 0 || batch_dims >= index.rank() || batch_dims > x.rank()) {
    return error(Code::shape, loc(), "indices {} into {} with {} batch axes", str(index), str(x),
                 batch_dims);
  }
  const Dim& depth = index.shape.back();
  if (!depth.is_static()) return error(Code::dim, loc(), "the length of index tuples is not known");
  if (depth.value() < 0 || depth.value() > x.rank() - batch_dims || depth.value() > 8) {
    return error(Code::shape, loc(), "tuples of {} indices into {}", depth.value(), str(x));
  }
  for (int64_t i = 0; i < batch_dims; ++i) {
    const Dim &a = x.shape[static_cast<size_t>(i)], &b = index.shape[static_cast<size_t>(i)];
    if (differ(a, b)) {
      return error(Code::shape, loc(), "indices {} and data {} differ in batch axis {}", str(index),
                   str(x), i);
    }
  }
  for (int64_t i = 0; i < depth.value(); ++i) {
    QC_TRY(check_pick(x.shape[static_cast<size_t>(batch_dims + i)], index.shape, loc()));
  }
  Dims shape(index.shape.begin(), index.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch_dims + depth.value(), x.shape.end());
  return std::vector<Type>{moved(x, shape)};
}

Result<Ok> GatherNd::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &index = c.in(1);
  const size_t b = static_cast<size_t>(batch_dims);
  const int64_t depth = index.shape().back(), batch = extent(index.shape(), 0, b);
  const int64_t rows = extent(index.shape(), b, index.shape().size() - 1);
  const size_t rest = b + static_cast<size_t>(depth);
  const int64_t inner = extent(x.shape(), b, rest);
  const int64_t block =
      extent(x.shape(), rest, x.shape().size()) * static_cast<int64_t>(bytes(x.dtype()));
  for (int64_t i = 0; i < batch * rows; ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t size = x.shape()[b + static_cast<size_t>(d)];
      at = at * size + qn_index(index.as_int(i * depth + d), size);
    }
    copy_block(x, i / rows * inner + at, c.out(0), i, block);
  }
  return Ok{};
}

Result<Ok> GatherNd::lower(Lowering& l) const {
  const Dims x = l.in_dims(0), index = l.in_dims(1);
  const size_t b = static_cast<size_t>(batch_dims),
               rest = b + static_cast<size_t>(index.back().value());
  const Dim size = static_cast<int64_t>(bytes(l.in_type(0).dtype));
  if (count(l.out_dims()) == 0) return Ok{};
  kernel::GatherNd p;
  QC_ASSIGN(p.batch, l.param(extent(index, 0, b)));
  QC_ASSIGN(p.rows, l.param(extent(index, b, index.size() - 1)));
  QC_ASSIGN(p.depth, l.param(index.back()));
  QC_ASSIGN(p.inner, l.param(extent(x, b, rest)));
  QC_ASSIGN(p.block, l.param(extent(x, rest, x.size()) * size));
  for (size_t i = b; i < rest; ++i) {
    QC_ASSIGN(p.dims[i - b], l.param(x[i]));
  }
  emit_gather(l, p);
  return Ok{};
}

}  // namespace qc
