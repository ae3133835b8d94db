// ONNX's signal ops: Fourier transforms as products with constant matrices, windows and the mel
// matrix as constants.
#include <algorithm>
#include <cmath>

#include "kernels/numerics/math_f64.h"
#include "kernels/numerics/trig_f64.h"
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "support/budget.h"

namespace qc {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr int64_t kMaxLength = 1 << 12;    // of a transform: its matrix has the square of it
constexpr int64_t kMaxElements = 1 << 24;  // of a constant made here

/// The one integer a constant operand holds, in [lo, hi].
int64_t known_int(Compose& c, Value* v, const char* what, int64_t lo, int64_t hi) {
  if (!c.ok()) return lo;
  const Ints list = c.take(c.import().known_static(v, what));
  if (c.ok() && (list.size() != 1 || list[0] < lo || list[0] > hi)) {
    c.fail(Code::attribute, "{} must be one number from {} to {}", what, lo, hi);
  }
  return c.ok() ? list[0] : lo;
}

/// A constant [rows, columns] of the given type, element by element.
template <class F>
Value* matrix(Compose& c, DType dtype, int64_t rows, int64_t columns, F&& element) {
  constexpr int64_t kElement = 40;  // steps of a sine
  spend(Cost::work, kElement * rows * columns);
  Tensor t(dtype, {rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) t.set_double(i * columns + j, element(i, j));
  }
  return c.import().graph().constant(std::move(t));
}

struct Transform {
  int64_t axis = 0;    // of the signal, not counting the last axis of real and imaginary parts
  int64_t length = 0;  // of the transform
  bool inverse = false;
  bool onesided = false;
};

/// Part 0 (real) or 1 (imaginary) of x [..., parts] with the signal axis last and cut or filled
/// with zeros to `size`.
Value* part(Compose& c, Value* x, int64_t which, const Ints& to_last, int64_t size) {
  Value* v = c("Gather", {x, c.import().scalar_int(which, DType::i64)}, {{"axis", int64_t{-1}}});
  v = c("Transpose", {v}, {{"perm", to_last}});
  if (!c.ok()) return nullptr;
  const int64_t have = v->shape().back().value();
  const int64_t last = v->rank() - 1;
  if (have > size) v = c("Slice", {v, c.ints({0}), c.ints({size}), c.ints({last})});
  if (have < size) v = c("Pad", {v, c.ints({0, size - have}), nullptr, c.ints({last})});
  return v;
}

Value* transform(Compose& c, Value* x, const Transform& t) {
  if (!c.ok()) return nullptr;
  const int64_t rank = x->rank() - 1;
  const Dim parts = x->shape().back(), have = x->shape()[static_cast<size_t>(t.axis)];
  if (!have.is_static() || !(parts == Dim(1) || parts == Dim(2))) {
    c.fail(Code::shape, "cannot transform axis {} of {}", t.axis, str(x->shape()));
    return nullptr;
  }
  Ints to_last, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    if (i != t.axis) to_last.push_back(i);
  }
  to_last.push_back(t.axis);
  for (size_t i = 0; i < to_last.size(); ++i)
    back[static_cast<size_t>(to_last[i])] = static_cast<int64_t>(i);

  const int64_t n = t.length;
  const bool half_in = t.inverse && t.onesided, half_out = !t.inverse && t.onesided;
  const int64_t in = half_in ? n / 2 + 1 : n, out = half_out ? n / 2 + 1 : n;
  const double sign = t.inverse ? 1 : -1, scale = t.inverse ? 1.0 / static_cast<double>(n) : 1.0;
  // A half spectrum stands for itself and the conjugate of its inner elements.
  auto weight = [&](int64_t k) { return half_in && k != 0 && 2 * k != n ? 2 * scale : scale; };
  auto angle = [&](int64_t k, int64_t j) {
    return 2 * kPi * static_cast<double>((k * j) % n) / static_cast<double>(n);
  };
  const DType dtype = x->dtype();
  Value* cosine = matrix(c, dtype, in, out,
                         [&](int64_t k, int64_t j) { return weight(k) * qn_cos_f64(angle(k, j)); });
  Value* sine = matrix(c, dtype, in, out, [&](int64_t k, int64_t j) {
    return weight(k) * sign * qn_sin_f64(angle(k, j));
  });
  Value* re = part(c, x, 0, to_last, in);
  Value* real = c("MatMul", {re, cosine});
  Value* imaginary = c("MatMul", {re, sine});
  if (parts == Dim(2)) {
    Value* im = part(c, x, 1, to_last, in);
    real = c("Sub", {real, c("MatMul", {im, sine})});
    imaginary = c("Add", {imaginary, c("MatMul", {im, cosine})});
  }
  auto finished = [&](Value* v) {
    return c("Unsqueeze", {c("Transpose", {v}, {{"perm", back}}), c.ints({-1})});
  };
  if (half_in) return finished(real);
  return c("Concat", {finished(real), finished(imaginary)}, {{"axis", int64_t{-1}}});
}

Result<Values> dft(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Transform t;
  t.inverse = c.take(m.b("inverse", false));
  t.onesided = c.take(m.b("onesided", false));
  t.axis = m.version() < 20 ? c.take(m.i("axis", 1)) : -2;
  if (m.version() >= 20 && m.has(2)) t.axis = known_int(c, m.in(2), "axis", -64, 64);
  if (!c.ok()) return c.done({});
  t.axis = c.take(resolve_axis(t.axis, x->rank(), m.loc()));
  if (!c.ok()) return c.done({});
  const Dim have = x->shape()[static_cast<size_t>(t.axis)];
  if (t.axis == x->rank() - 1 || !have.is_static() || have.value() < 1) {
    return m.fail(Code::shape, "cannot transform axis {} of {}", t.axis, str(x->shape()));
  }
  t.length = t.inverse && t.onesided ? 2 * (have.value() - 1) : have.value();
  if (m.has(1)) t.length = known_int(c, m.in(1), "dft_length", 1, kMaxLength);
  if (t.length < 1 || t.length > kMaxLength) {
    return m.fail(Code::limit, "a transform of length {}", t.length);
  }
  return c.done({transform(c, x, t)});
}

Result<Values> stft(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  const int64_t step = known_int(c, c.take(operand(m, 1)), "frame_step", 1, kMaxLength);
  const bool onesided = c.take(m.b("onesided", true));
  if (!c.ok()) return c.done({});
  if (x->rank() == 2) x = c("Unsqueeze", {x, c.ints({-1})});
  if (!c.ok() || x->rank() != 3 || !x->shape()[1].is_static()) {
    return m.fail(Code::shape, "the signal must be [batch, length, parts]");
  }
  Value* window = m.in(2);
  int64_t length = x->shape()[1].value();
  if (window && window->rank() == 1 && window->shape()[0].is_static())
    length = window->shape()[0].value();
  if (m.has(3)) length = known_int(c, m.in(3), "frame_length", 1, kMaxLength);
  const int64_t signal = x->shape()[1].value();
  if (length < 1 || length > signal || length > kMaxLength) {
    return m.fail(Code::shape, "frames of {} in a signal of {}", length, signal);
  }
  const int64_t frames = 1 + (signal - length) / step;
  if (frames > kMaxElements / length) return m.fail(Code::limit, "{} frames of {}", frames, length);
  Value* index = matrix(c, DType::i64, frames, length,
                        [&](int64_t f, int64_t i) { return static_cast<double>(f * step + i); });
  Value* v = c("Gather", {x, index}, {{"axis", int64_t{1}}});
  if (window) v = c("Mul", {v, c.reshape(window, {Dim(length), Dim(1)})});
  return c.done(
      {transform(c, v, {.axis = 2, .length = length, .inverse = false, .onesided = onesided})});
}

/// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
Result<Values> window(Import& m, double a0, double a1, double a2) {
  Compose c(m);
  const int64_t size = known_int(c, c.take(operand(m, 0)), "size", 0, 1 << 24);
  const bool periodic = c.take(m.b("periodic", true));
  const DType dtype = c.take(m.dtype("output_datatype", DType::f32));
  if (!c.ok()) return c.done({});
  const double n = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  Value* w = matrix(c, dtype, 1, size, [&](int64_t, int64_t i) {
    const double angle = 2 * kPi * static_cast<double>(i) / n;
    return a0 - a1 * qn_cos_f64(angle) + a2 * qn_cos_f64(2 * angle);
  });
  return c.done({c.reshape(w, {Dim(size)})});
}
Result<Values> hann(Import& m) { return window(m, 0.5, 0.5, 0); }
Result<Values> hamming(Import& m) { return window(m, 25.0 / 46.0, 21.0 / 46.0, 0); }
Result<Values> blackman(Import& m) { return window(m, 0.42, 0.5, 0.08); }

Result<Values> mel_weight_matrix(Import& m) {
  Compose c(m);
  const int64_t bins = known_int(c, c.take(operand(m, 0)), "num_mel_bins", 0, 1 << 14);
  const int64_t length = known_int(c, c.take(operand(m, 1)), "dft_length", 1, 1 << 20);
  const int64_t rate = known_int(c, c.take(operand(m, 2)), "sample_rate", 1, 1 << 30);
  const DType dtype = c.take(m.dtype("output_datatype", DType::f32));
  double edges[2] = {0, 0};
  for (size_t i = 0; i < 2 && c.ok(); ++i) {
    Value* v = c.take(operand(m, 3 + i));
    if (!c.ok()) break;
    const Tensor t = c.take(m.constant(v, "edge frequency"));
    if (c.ok() && t.size() == 1) edges[i] = t.as_double(0);
  }
  if (!c.ok()) return c.done({});
  const int64_t rows = length / 2 + 1;
  if (bins > kMaxElements / rows) return m.fail(Code::limit, "a matrix of {} by {}", rows, bins);
  const double ln10 = qn_log_f64(10.0);
  auto mel = [&](double hertz) { return 2595 * qn_log1p_f64(hertz / 700) / ln10; };
  const double low = mel(edges[0]), step = (mel(edges[1]) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * qn_expm1_f64((static_cast<double>(i) * step + low) / 2595 * ln10);
    const double position =
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(position >= 0 && position < static_cast<double>(rows))) {
      return m.fail(Code::attribute, "edge frequencies are outside the spectrum");
    }
    at.push_back(static_cast<int64_t>(position));
  }
  return c.done({matrix(c, dtype, rows, bins, [&](int64_t j, int64_t i) {
    const int64_t left = at[static_cast<size_t>(i)], centre = at[static_cast<size_t>(i) + 1],
                  right = at[static_cast<size_t>(i) + 2];
    if (j >= centre && j < right)
      return static_cast<double>(right - j) / static_cast<double>(right - centre);
    if (left == centre) return j == centre ? 1.0 : 0.0;
    if (j >= left && j <= centre)
      return static_cast<double>(j - left) / static_cast<double>(centre - left);
    return 0.0;
  })});
}

constexpr ImportRow kRows[] = {
    {"", "DFT", dft, 17},
    {"", "STFT", stft, 17},
    {"", "HannWindow", hann, 17},
    {"", "HammingWindow", hamming, 17},
    {"", "BlackmanWindow", blackman, 17},
    {"", "MelWeightMatrix", mel_weight_matrix, 17},
};

}  // namespace

void register_signal(Registration& r) { r.imports(kRows); }

}  // namespace qc
