// Import rows of ops that make tensors from sizes and numbers: small ones become constants, others
// an expanded scalar or a sequence.
#include <cmath>

#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/create/create.h"

namespace qc {
namespace {

constexpr int64_t kSmall = 64 * 1024;  // bytes up to which a filled tensor is a constant

Result<Values> single(Result<Value*> value) {
  QC_ASSIGN(Value * v, std::move(value));
  return Values{v};
}

/// A tensor of `shape` with every element `value`, a rank-0 value.
Result<Value*> filled(const Import& m, Value* value, const Dims& shape) {
  for (const Dim& d : shape) {
    if (d.is_static() && d.value() < 0) return m.fail(Code::attribute, "a size of {}", d.value());
  }
  if (value->is_constant() && all_static(shape)) {
    QC_ASSIGN(int64_t total, checked_bytes(value->dtype(), static_dims(shape)));
    if (total <= kSmall) {
      QC_ASSIGN(Tensor one, m.constant(value, "the value"));
      Tensor t(value->dtype(), static_dims(shape));
      const size_t size = bytes(value->dtype());
      std::span<std::byte> to = t.mutable_bytes();
      for (size_t i = 0; i < to.size(); ++i) to[i] = one.bytes()[i % size];
      return m.graph().constant(std::move(t));
    }
  }
  if (shape.empty()) return value;
  return m.emit("expand", {value}, {{"shape", shape}});
}

Result<Value*> constant(const Import& m, const Dims& shape, DType dtype, auto&& element) {
  if (!all_static(shape))
    return m.fail(Code::dim, "shape {} is not known; bind its dimensions", str(shape));
  QC_ASSIGN(int64_t size, checked_bytes(dtype, static_dims(shape)));
  if (size > (int64_t{1} << 28)) return m.fail(Code::limit, "a constant of {} bytes", size);
  Tensor t(dtype, static_dims(shape));
  for (int64_t i = 0; i < t.size(); ++i) element(t, i);
  return m.graph().constant(std::move(t));
}

// ---- ONNX ----

Result<Values> sizes(const Import& m, const Dims& values, bool scalar) {
  if (!all_static(values))
    return single(m.emit("dims", {}, {{"values", values}, {"scalar", scalar}}));
  if (scalar) return Values{m.scalar_int(values[0].value(), DType::i64)};
  return Values{m.int_list(static_dims(values))};
}

Result<Values> onnx_shape(Import& m) {
  const Dims& shape = m.in(0)->shape();
  const int64_t rank = m.in(0)->rank();
  QC_ASSIGN(int64_t start, m.i("start", 0));
  QC_ASSIGN(int64_t end, m.i("end", rank));
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t first = clamp(start), last = std::max(first, clamp(end));
  return sizes(m, Dims(shape.begin() + first, shape.begin() + last), false);
}

Result<Values> onnx_size(Import& m) { return sizes(m, {product(m.in(0)->shape())}, true); }

Result<Values> onnx_constant_of_shape(Import& m) {
  QC_ASSIGN(Dims shape, m.known(m.in(0), "the shape"));
  Value* value = m.scalar(0, DType::f32);
  if (const Arg* arg = m.find("value")) {
    const Tensor* t = std::get_if<Tensor>(arg);
    if (!t || t->size() != 1) return m.fail(Code::attribute, "the value is not one element");
    value = m.graph().constant(t->reshaped({}));
  }
  return single(filled(m, value, shape));
}

/// start, start + step, ... of integers before `end`; sizes may be symbolic.
Result<Value*> sequence(const Import& m, const Dim& start, const Dim& end, const Dim& step,
                        DType dtype) {
  if (step == Dim(0)) return m.fail(Code::attribute, "a sequence with step 0");
  if (int64_t extent; start.is_static() && end.is_static() &&
                      __builtin_sub_overflow(end.value(), start.value(), &extent)) {
    return m.fail(Code::limit, "a sequence from {} to {}", start.str(), end.str());
  }
  Dim size = ceildiv(end - start, step);
  if (size.is_static() && size.value() < 0) size = Dim(0);
  if (start.is_static() && step.is_static() && size.is_static() && size.value() <= kSmall) {
    return constant(m, {size}, dtype,
                    [&](Tensor& t, int64_t i) { t.set_int(i, (start + Dim(i) * step).value()); });
  }
  return m.emit("iota", {}, {{"start", start}, {"step", step}, {"size", size}, {"dtype", dtype}});
}

Result<Value*> real_sequence(const Import& m, double start, double end, double step, DType dtype) {
  const double size = std::ceil((end - start) / step);
  if (!(size < double{1 << 28}))
    return m.fail(Code::attribute, "a sequence from {} to {} by {}", start, end, step);
  return constant(m, {Dim(static_cast<int64_t>(std::max(size, 0.0)))}, dtype,
                  [&](Tensor& t, int64_t i) {
                    t.set_double(i, std::fma(static_cast<double>(i), step, start));
                  });
}

Result<Values> onnx_range(Import& m) {
  for (size_t i = 0; i < 3; ++i) {
    if (!m.has(i)) return m.fail(Code::graph, "operand {} is missing", i);
  }
  const DType dtype = m.in(0)->dtype();
  if (!is_float(dtype)) {
    Dims bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      QC_ASSIGN(bounds[i], m.known(m.in(i), "a bound of the range"));
      if (bounds[i].size() != 1) return m.fail(Code::shape, "a bound of the range is not a scalar");
    }
    return single(sequence(m, bounds[0][0], bounds[1][0], bounds[2][0], dtype));
  }
  double bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    QC_ASSIGN(Tensor t, m.constant(m.in(i), "a bound of the range"));
    if (t.size() != 1) return m.fail(Code::shape, "a bound of the range is not a scalar");
    bounds[i] = t.as_double(0);
  }
  return single(real_sequence(m, bounds[0], bounds[1], bounds[2], dtype));
}

Result<Value*> eye(const Import& m, const Dims& shape, int64_t k, DType dtype) {
  return constant(m, shape, dtype, [&](Tensor& t, int64_t i) {
    if (i % t.shape()[1] - i / t.shape()[1] == k) t.set_int(i, 1);
  });
}

/// Attributes of ONNX name element types by number; the front end hands them over as types.
Result<Values> onnx_eye_like(Import& m) {
  if (m.in(0)->rank() != 2)
    return m.fail(Code::shape, "the shape of {} is not a matrix", str(m.in(0)->type()));
  QC_ASSIGN(int64_t k, m.i("k", 0));
  QC_ASSIGN(DType dtype, m.dtype("dtype", m.in(0)->dtype()));
  return single(eye(m, m.in(0)->shape(), k, dtype));
}

Result<Values> onnx_trilu(Import& m) {
  QC_ASSIGN(bool upper, m.b("upper", true));
  int64_t k = 0;
  if (m.has(1)) {
    QC_ASSIGN(Ints list, m.known_static(m.in(1), "k"));
    if (list.size() != 1) return m.fail(Code::shape, "k is not a scalar");
    k = list[0];
  }
  return single(m.emit("trilu", {m.in(0)}, {{"upper", upper}, {"k", k}}));
}

Result<Values> onnx_one_hot(Import& m) {
  Value* index = m.in(0);
  QC_ASSIGN(int64_t axis, m.i("axis", -1));
  QC_ASSIGN(axis, resolve_axis(axis, index->rank() + 1, m.loc()));
  Dim depth;
  if (is_float(m.in(1)->dtype())) {
    QC_ASSIGN(Tensor t, m.constant(m.in(1), "depth"));
    if (t.size() != 1) return m.fail(Code::shape, "depth is not a scalar");
    depth = Dim(t.as_int(0));
  } else {
    QC_ASSIGN(Dims list, m.known(m.in(1), "depth"));
    if (list.size() != 1) return m.fail(Code::shape, "depth is not a scalar");
    depth = list[0];
  }
  QC_ASSIGN(index, m.cast(index, DType::i64));
  return single(m.emit("one_hot", {index, m.in(2)}, {{"depth", depth}, {"axis", axis}}));
}

/// The places of non-zero elements: their number is only known for constants.
Result<Values> nonzero(const Import& m, Value* x, bool rows) {
  if (!x->is_constant()) {
    return m.fail(Code::unsupported, "the number of non-zero elements is not known when compiling");
  }
  QC_ASSIGN(Tensor t, m.constant(x, "the operand"));
  Ints positions;
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.as_double(i) != 0) positions.push_back(i);
  }
  const int64_t n = static_cast<int64_t>(positions.size()), rank = t.rank();
  return single(
      constant(m, rows ? Dims{n, rank} : Dims{rank, n}, DType::i64, [&](Tensor& out, int64_t i) {
        const int64_t axis = rows ? i % rank : i / n;
        int64_t at = positions[static_cast<size_t>(rows ? i / rank : i % n)];
        for (int64_t d = rank - 1; d > axis; --d) at /= t.shape()[static_cast<size_t>(d)];
        out.set_int(i, at % t.shape()[static_cast<size_t>(axis)]);
      }));
}

Result<Values> onnx_nonzero(Import& m) { return nonzero(m, m.in(0), false); }

// ---- ATen ----

/// The type PyTorch gives a number: bool, i64 or f32.
DType number_type(const Arg* arg) {
  if (!arg) return DType::f32;
  if (std::holds_alternative<bool>(*arg)) return DType::boolean;
  if (std::holds_alternative<int64_t>(*arg) || std::holds_alternative<Dim>(*arg)) return DType::i64;
  if (const Value* const* v = std::get_if<Value*>(arg)) return (*v)->dtype();
  return DType::f32;
}

/// The named argument as one element of `dtype`.
Result<Value*> number(const Import& m, std::string_view name, DType dtype) {
  QC_ASSIGN(Value * v, m.tensor_as(name, dtype));
  return reshaped(m, v, {});
}

Result<Values> aten_full(Import& m) {
  QC_ASSIGN(Dims shape, m.dims("size"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", number_type(m.find("fill_value"))));
  QC_ASSIGN(Value * value, number(m, "fill_value", dtype));
  return single(filled(m, value, shape));
}

Result<Values> aten_full_like(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", x->dtype()));
  QC_ASSIGN(Value * value, number(m, "fill_value", dtype));
  return single(filled(m, value, x->shape()));
}

Result<Values> aten_new_full(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims shape, m.dims("size"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", x->dtype()));
  QC_ASSIGN(Value * value, number(m, "fill_value", dtype));
  return single(filled(m, value, shape));
}

template <int V>
Result<Values> aten_filled(Import& m) {
  QC_ASSIGN(Dims shape, m.dims("size"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  return single(filled(m, m.scalar_int(V, dtype), shape));
}

template <int V>
Result<Values> aten_filled_like(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", x->dtype()));
  return single(filled(m, m.scalar_int(V, dtype), x->shape()));
}

template <int V>
Result<Values> aten_new_filled(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Dims shape, m.dims("size"));
  QC_ASSIGN(DType dtype, m.dtype("dtype", x->dtype()));
  return single(filled(m, m.scalar_int(V, dtype), shape));
}

/// fill_ and zero_: the operand gives type and shape only.
Result<Values> aten_fill(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * value, number(m, "value", x->dtype()));
  return single(filled(m, value, x->shape()));
}

Result<Values> aten_scalar_tensor(Import& m) {
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  return single(number(m, "s", dtype));
}

Result<Values> aten_arange(Import& m) {
  DType inferred = DType::i64;
  for (std::string_view name : {"start", "end", "step"}) {
    if (m.given(name) && is_float(number_type(m.find(name)))) inferred = DType::f32;
  }
  QC_ASSIGN(DType dtype, m.dtype("dtype", inferred));
  if (inferred == DType::i64) {
    QC_ASSIGN(Dim start, m.dim("start", Dim(0)));
    QC_ASSIGN(Dim end, m.dim("end", Dim(0)));
    QC_ASSIGN(Dim step, m.dim("step", Dim(1)));
    return single(sequence(m, start, end, step, dtype));
  }
  QC_ASSIGN(double start, m.f("start", 0));
  QC_ASSIGN(double end, m.f("end", 0));
  QC_ASSIGN(double step, m.f("step", 1));
  return single(real_sequence(m, start, end, step, dtype));
}

/// Element i of `steps` evenly spaced numbers, counted from the nearer end.
double spaced(double start, double end, int64_t steps, int64_t i) {
  if (steps == 1) return start;
  const double step = (end - start) / static_cast<double>(steps - 1);
  return i < steps / 2 ? std::fma(step, static_cast<double>(i), start)
                       : std::fma(-step, static_cast<double>(steps - 1 - i), end);
}

Result<Values> aten_linspace(Import& m) {
  QC_ASSIGN(double start, m.f("start", 0));
  QC_ASSIGN(double end, m.f("end", 0));
  QC_ASSIGN(int64_t steps, m.i("steps", 100));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  return single(constant(m, {Dim(steps)}, dtype, [&](Tensor& t, int64_t i) {
    t.set_double(i, spaced(start, end, steps, i));
  }));
}

Result<Values> aten_logspace(Import& m) {
  QC_ASSIGN(double start, m.f("start", 0));
  QC_ASSIGN(double end, m.f("end", 0));
  QC_ASSIGN(int64_t steps, m.i("steps", 100));
  QC_ASSIGN(double base, m.f("base", 10));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  return single(constant(m, {Dim(steps)}, dtype, [&](Tensor& t, int64_t i) {
    t.set_double(i, std::pow(base, spaced(start, end, steps, i)));
  }));
}

/// a0 - a1 cos(2 pi i / n) over one period: the Hann and Hamming windows.
Result<Values> cosine_window(const Import& m, double a0, double a1) {
  QC_ASSIGN(int64_t length, m.i("window_length", 0));
  QC_ASSIGN(bool periodic, m.b("periodic", true));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  const double n = static_cast<double>(periodic || length == 1 ? length : length - 1);
  return single(constant(m, {Dim(length)}, dtype, [&](Tensor& t, int64_t i) {
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(i) / n;
    t.set_double(i, length == 1 ? 1.0 : a0 - a1 * std::cos(angle));
  }));
}

Result<Values> aten_hann_window(Import& m) { return cosine_window(m, 0.5, 0.5); }
Result<Values> aten_hamming_window(Import& m) { return cosine_window(m, 0.54, 0.46); }

Result<Values> aten_eye(Import& m) {
  QC_ASSIGN(Dim n, m.dim("n", Dim(0)));
  QC_ASSIGN(Dim columns, m.dim("m", n));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::f32));
  return single(eye(m, {n, columns}, 0, dtype));
}

template <bool Upper>
Result<Values> aten_trilu(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t k, m.i("diagonal", 0));
  return single(m.emit("trilu", {x}, {{"upper", Upper}, {"k", k}}));
}

template <bool Upper>
Result<Values> aten_triangle_indices(Import& m) {
  QC_ASSIGN(int64_t rows, m.i("row", 0));
  QC_ASSIGN(int64_t columns, m.i("col", 0));
  QC_ASSIGN(int64_t k, m.i("offset", 0));
  QC_ASSIGN(DType dtype, m.dtype("dtype", DType::i64));
  if (rows < 0 || columns < 0 || rows > 4096 || columns > 4096) {
    return m.fail(Code::attribute, "a triangle of {} by {}", rows, columns);
  }
  Ints r, c;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (Upper ? j - i < k : j - i > k) continue;
      r.push_back(i);
      c.push_back(j);
    }
  }
  const int64_t n = static_cast<int64_t>(r.size());
  return single(constant(m, {Dim(2), Dim(n)}, dtype, [&](Tensor& t, int64_t i) {
    t.set_int(i, i < n ? r[static_cast<size_t>(i)] : c[static_cast<size_t>(i - n)]);
  }));
}

Result<Values> aten_one_hot(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t classes, m.i("num_classes", -1));
  if (classes < 0)
    return m.fail(Code::unsupported, "one_hot without num_classes depends on the data");
  QC_ASSIGN(x, m.cast(x, DType::i64));
  return single(
      m.emit("one_hot", {x, m.int_list({0, 1})}, {{"depth", Dim(classes)}, {"axis", x->rank()}}));
}

Result<Values> aten_nonzero(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return nonzero(m, x, true);
}

constexpr ImportRow kRows[] = {
    {"", "Shape", onnx_shape},
    {"", "Size", onnx_size},
    {"", "ConstantOfShape", onnx_constant_of_shape},
    {"", "Range", onnx_range},
    {"", "EyeLike", onnx_eye_like},
    {"", "Trilu", onnx_trilu},
    {"", "OneHot", onnx_one_hot},
    {"", "NonZero", onnx_nonzero},
    {"aten", "full.default", aten_full},
    {"aten", "full_like.default", aten_full_like},
    {"aten", "new_full.default", aten_new_full},
    {"aten", "zeros.default", aten_filled<0>},
    {"aten", "ones.default", aten_filled<1>},
    {"aten", "empty.memory_format", aten_filled<0>},
    {"aten", "empty_permuted.default", aten_filled<0>},
    {"aten", "empty_strided.default", aten_filled<0>},
    {"aten", "zeros_like.default", aten_filled_like<0>},
    {"aten", "ones_like.default", aten_filled_like<1>},
    {"aten", "empty_like.default", aten_filled_like<0>},
    {"aten", "zero.default", aten_filled_like<0>},
    {"aten", "new_zeros.default", aten_new_filled<0>},
    {"aten", "new_ones.default", aten_new_filled<1>},
    {"aten", "new_empty.default", aten_new_filled<0>},
    {"aten", "new_empty_strided.default", aten_new_filled<0>},
    {"aten", "fill.Scalar", aten_fill},
    {"aten", "fill.Tensor", aten_fill},
    {"aten", "scalar_tensor.default", aten_scalar_tensor},
    {"prims", "scalar_tensor.default", aten_scalar_tensor},
    {"aten", "arange.default", aten_arange},
    {"aten", "arange.start", aten_arange},
    {"aten", "arange.start_step", aten_arange},
    {"aten", "linspace.default", aten_linspace},
    {"aten", "logspace.default", aten_logspace},
    {"aten", "hann_window.default", aten_hann_window},
    {"aten", "hann_window.periodic", aten_hann_window},
    {"aten", "hamming_window.default", aten_hamming_window},
    {"aten", "hamming_window.periodic", aten_hamming_window},
    {"aten", "eye.default", aten_eye},
    {"aten", "eye.m", aten_eye},
    {"aten", "tril.default", aten_trilu<false>},
    {"aten", "triu.default", aten_trilu<true>},
    {"aten", "tril_indices.default", aten_triangle_indices<false>},
    {"aten", "triu_indices.default", aten_triangle_indices<true>},
    {"aten", "one_hot.default", aten_one_hot},
    {"aten", "nonzero.default", aten_nonzero},
};

}  // namespace

void register_create(Registration& r) {
  r.op<DimsOp>();
  r.op<Iota>();
  r.op<Trilu>();
  r.op<OneHot>();
  r.imports(kRows);
}

}  // namespace qc
