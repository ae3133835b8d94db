// Products of codes: the interpreter against plain sums of wide integers, the kernels against the
// interpreter, for every type, layout and edge of the code ranges.
#include "tests/unit/quant_products.h"

#include <array>
#include <cmath>

#include "kernels/numerics/quant.h"
#include "kernels/numerics/quant_q31.h"
#include "program/select_kernels.h"
#include "quant/quant_node.h"
#include "tests/support/device.h"
#include "tests/support/variants.h"
#include "tests/unit/wide.h"

namespace qc {
namespace {

/// What a sum becomes, from its definition.
double expected(Wide sum, const Format& x, const Format& w, const QType& to, int64_t c,
                const std::string& arithmetic, int64_t lo, int64_t hi) {
  volatile float s = x.scale_at() * w.scale_at(c);
  if (!to.format) {
    volatile float v = static_cast<float>(static_cast<int64_t>(sum)) * s;
    return v;
  }
  volatile float m = s / to.format->scale_at();
  const int32_t zero = to.format->zero_at();
  const int64_t least = std::max(lo, to.format->qmin), most = std::min(hi, to.format->qmax);
  double code = 0;
  if (arithmetic == "exact,rescale=q31") {
    int32_t mantissa = 0, shift = 0;
    qn_q31_from_f32(m, &mantissa, &shift);
    return wide_rescale(static_cast<int64_t>(sum), mantissa, shift, zero,
                        static_cast<int32_t>(least), static_cast<int32_t>(most));
  }
  volatile float v = static_cast<float>(static_cast<int64_t>(sum)) * m;
  code = std::nearbyint(static_cast<double>(v)) + zero;
  return std::min(std::max(code, static_cast<double>(least)), static_cast<double>(most));
}

/// An operand: an input of codes or plain values, or a constant.
struct Given {
  Tensor tensor;
  std::shared_ptr<const Format> format;
  bool constant = false;
};

int on_device = 0;  // programs for CUDA that ran

void expect_on_device(int least) {
  if (has_variants_for(*find_target("cuda"))) {
    EXPECT_GT(on_device, least);
  }
}

/// The interpreter's result, which the kernels must have too, where `layouts` also channels-last.
Result<Tensor> run(std::string_view op, const std::vector<std::optional<Given>>& operands,
                   const AttrMap& attrs, bool layouts = false) {
  const auto build = [&](Graph& graph, Layout layout) -> Result<Value*> {
    std::vector<Value*> in;
    for (const auto& o : operands) {
      if (!o) {
        in.push_back(nullptr);
      } else if (o->constant) {
        in.push_back(graph.constant(graph.pool().add(o->tensor), o->format));
      } else {
        Type type(QType{o->tensor.dtype(), o->format}, to_dims(o->tensor.shape()));
        if (in.empty()) type.layout = layout;
        in.push_back(graph.add_input("x", type));
      }
    }
    QC_ASSIGN(Value * y, graph.emit(op, in, attrs, {}));
    graph.add_output("y", y);
    return y;
  };
  std::vector<Tensor> inputs;
  for (const auto& o : operands) {
    if (o && !o->constant) inputs.push_back(o->tensor);
  }
  Graph plain;
  QC_TRY(build(plain, Layout::row_major));
  QC_ASSIGN(RunResult reference, interpret(plain, inputs));
  for (bool last : {false, true}) {
    if (last && !layouts) continue;
    Graph graph;
    QC_TRY(build(graph, last ? Layout::channels_last : Layout::row_major));
    QC_ASSIGN(Program program, lower(graph));
    QC_TRY(select_kernels(program));
    std::vector<Tensor> given = inputs;
    if (last) given[0] = reordered(given[0], true);
    // Layouts are given here.
    QC_ASSIGN(const auto device, device_program(graph, kDevices[0], false));
    QC_ASSIGN(const auto blocks, device_program(graph, kDevices[1], false));
    std::vector<const Program*> programs{&program};
    for (const auto* one : {&device, &blocks}) {
      if (*one) programs.push_back(&**one);
    }
    for (const Program* p : programs) {
      on_device += p != &program;
      QC_ASSIGN(ProgramResult out, run_program(*p, given));
      const Tensor got = last ? reordered(out.outputs[0], false) : out.outputs[0];
      EXPECT_TRUE(got.identical(reference.outputs[0]))
          << op << " of " << str(plain.inputs()[0]->type()) << ", "
          << str(plain.first()->input_type(1)) << (last ? ", channels-last" : "")
          << (p == &program ? "" : ", on the device");
    }
  }
  return std::move(reference.outputs[0]);
}

Result<Tensor> run(std::string_view op, const QType& x_type, const Tensor& x, const Tensor& w,
                   const QType& w_type, const Tensor* bias, const AttrMap& attrs) {
  std::vector<std::optional<Given>> operands{Given{x, x_type.format},
                                             Given{w, w_type.format, true}};
  if (bias) operands.push_back(Given{*bias, nullptr, true});
  return run(op, operands, attrs, op == "qconv");
}

// arithmetic.md: Q30, E6
TEST_F(Products, Convolutions) {
  on_device = 0;
  for (int round = 0; round < 600; ++round) {
    const int64_t axes = 1 + below(3);
    const int64_t groups = chance(50) ? 1 : 1 + below(4), icg = chance(40) ? 1 : 1 + below(9);
    const int64_t ocg = groups > 1 && chance(60) ? 1 : chance(20) ? 17 + below(60) : 1 + below(9);
    const int64_t ic = groups * icg, oc = groups * ocg;
    const DType xt = kOperands[below(4)], wt = kWeights[below(5)];
    Ints xs{1 + below(2), ic}, ws{oc, icg}, strides, dilations, pads(static_cast<size_t>(2 * axes));
    for (int64_t a = 0; a < axes; ++a) {
      ws.push_back(1 + below(4));
      strides.push_back(1 + below(2));
      dilations.push_back(chance(70) ? 1 : 2);
      const int64_t before = below(3), after = below(3);
      pads[static_cast<size_t>(a)] = before;
      pads[static_cast<size_t>(axes + a)] = after;
      // Some windows reach out of the input on both sides.
      const int64_t window = dilations.back() * (ws.back() - 1) + 1;
      xs.push_back(chance(25) ? std::max<int64_t>(1, window - before - after) + below(2)
                              : window + below(a + 1 == axes ? 24 : 5));
    }
    const QType x_type = per_tensor(xt);
    const QType w_type = chance(50) ? per_tensor(wt) : per_axis(wt, 0, oc);
    const Tensor x = codes(xt, xs), w = codes(wt, ws);
    int64_t terms = 1;
    for (size_t i = 1; i < ws.size(); ++i) terms *= ws[i];
    const double bound = static_cast<double>(code_range(xt).hi - code_range(xt).lo) *
                         static_cast<double>(code_range(wt).hi - code_range(wt).lo) *
                         std::sqrt(static_cast<double>(terms));
    QType to;
    if (chance(85)) to = result(x_type.format->scale_at() * w_type.format->scale_at(0), bound);
    const std::string arithmetic = to.format && chance(30) ? "exact,rescale=q31" : "exact";
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    if (to.format && chance(30)) lo = to.format->zero_at();
    AttrMap attrs{
        {"strides", strides}, {"dilations", dilations},   {"pads", pads}, {"groups", groups},
        {"to", to},           {"arithmetic", arithmetic}, {"lo", lo},     {"hi", hi}};
    Tensor bias(chance(20) ? DType::i64 : DType::i32, {oc});
    for (int64_t c = 0; c < oc; ++c) {
      bias.set_int(c, bias.dtype() == DType::i64 ? (below(1) - 1) * (int64_t{1} << 40) + below(99)
                                                 : below(200000) - 100000);
    }
    const Tensor* b = chance(60) ? &bias : nullptr;
    auto y = run("qconv", x_type, x, w, w_type, b, attrs);
    ASSERT_TRUE(y.ok()) << render(y.diag());
    // Plain sums over all taps.
    Ints in(3, 1), k(3, 1), s(3, 1), d(3, 1), pad(3, 0), out(3, 1);
    for (int64_t a = 0; a < axes; ++a) {
      const size_t to_axis = static_cast<size_t>(3 - axes + a), from = static_cast<size_t>(a);
      in[to_axis] = xs[2 + from];
      k[to_axis] = ws[2 + from];
      s[to_axis] = strides[from];
      d[to_axis] = dilations[from];
      pad[to_axis] = pads[from];
      out[to_axis] = y->shape()[2 + from];
    }
    int64_t at = 0;
    for (int64_t n = 0; n < xs[0]; ++n) {
      for (int64_t c = 0; c < oc; ++c) {
        for (int64_t o = 0; o < out[0] * out[1] * out[2]; ++o, ++at) {
          const int64_t o0 = o / (out[1] * out[2]), o1 = o / out[2] % out[1], o2 = o % out[2];
          Wide sum = b ? b->as_int(c) : 0;
          for (int64_t e = 0; e < terms; ++e) {
            const int64_t tap = e % (k[0] * k[1] * k[2]), i = e / (k[0] * k[1] * k[2]);
            const int64_t i0 = o0 * s[0] - pad[0] + tap / (k[1] * k[2]) * d[0];
            const int64_t i1 = o1 * s[1] - pad[1] + tap / k[2] % k[1] * d[1];
            const int64_t i2 = o2 * s[2] - pad[2] + tap % k[2] * d[2];
            if (i0 < 0 || i1 < 0 || i2 < 0 || i0 >= in[0] || i1 >= in[1] || i2 >= in[2]) continue;
            const int64_t from = ((n * ic + c / ocg * icg + i) * in[0] + i0) * in[1] + i1;
            sum += Wide{x.as_int(from * in[2] + i2) - x_type.format->zero_at()} *
                   (w.as_int(c * terms + e) - w_type.format->zero_at(c));
          }
          ASSERT_EQ(y->as_double(at),
                    expected(sum, *x_type.format, *w_type.format, to, c, arithmetic, lo, hi))
              << "round " << round << ", element " << at;
        }
      }
    }
  }
  expect_on_device(600);
}

TEST_F(Products, WindowsCutOnBothSides) {
  for (int64_t ic = 1; ic < 6; ++ic) {
    for (int64_t taps = 2; taps < 7; ++taps) {
      for (int64_t size = 1; size < taps; ++size) {
        const QType x_type = per_tensor(DType::u8), w_type = per_tensor(DType::i8);
        const AttrMap attrs{
            {"strides", Ints{1}}, {"dilations", Ints{1}}, {"pads", Ints{taps - 1, taps - 1}}};
        auto y = run("qconv", x_type, codes(DType::u8, {1, ic, size}),
                     codes(DType::i8, {3, ic, taps}), w_type, nullptr, attrs);
        ASSERT_TRUE(y.ok()) << render(y.diag());
      }
    }
  }
}

// arithmetic.md: Q30, Q31, Q32
TEST_F(Products, Linears) {
  on_device = 0;
  for (int round = 0; round < 400; ++round) {
    const int64_t m = 1 + below(15), k = chance(10) ? 1 : 1 + below(150), n = 1 + below(90);
    const DType xt = kOperands[below(4)], wt = kWeights[below(5)];
    const QType x_type = per_tensor(xt);
    const QType w_type = chance(50) ? per_tensor(wt) : per_axis(wt, 0, n);
    const Tensor x = codes(xt, {m, k}), w = codes(wt, {n, k});
    const double bound = static_cast<double>(code_range(xt).hi - code_range(xt).lo) *
                         static_cast<double>(code_range(wt).hi - code_range(wt).lo) *
                         std::sqrt(static_cast<double>(k));
    QType to;
    if (chance(85)) to = result(x_type.format->scale_at() * w_type.format->scale_at(0), bound);
    const std::string arithmetic = to.format && chance(30) ? "exact,rescale=q31" : "exact";
    Tensor bias(DType::i32, {n});
    for (int64_t c = 0; c < n; ++c) bias.set_int(c, below(200000) - 100000);
    const Tensor* b = chance(60) ? &bias : nullptr;
    auto y = run("qlinear", x_type, x, w, w_type, b, {{"to", to}, {"arithmetic", arithmetic}});
    ASSERT_TRUE(y.ok()) << render(y.diag());
    for (int64_t i = 0; i < m * n; ++i) {
      Wide sum = b ? b->as_int(i % n) : 0;
      for (int64_t e = 0; e < k; ++e) {
        sum += Wide{x.as_int(i / n * k + e) - x_type.format->zero_at()} *
               (w.as_int(i % n * k + e) - w_type.format->zero_at(i % n));
      }
      ASSERT_EQ(y->as_double(i), expected(sum, *x_type.format, *w_type.format, to, i % n,
                                          arithmetic, INT64_MIN, INT64_MAX))
          << "round " << round << ", element " << i;
    }
  }
  expect_on_device(100);
}

// arithmetic.md: Q30
TEST_F(Products, TransposedConvolutions) {
  for (int round = 0; round < 200; ++round) {
    const int64_t groups = chance(60) ? 1 : 2, icg = 1 + below(4), ocg = 1 + below(4);
    const int64_t k = 1 + below(3), stride = 1 + below(3), size = 1 + below(6), pad = below(2);
    const int64_t dilation = 1 + below(2), reach = dilation * (k - 1) + 1;
    if ((size - 1) * stride + reach - 2 * pad < 1) continue;
    const DType xt = kOperands[below(4)], wt = kWeights[below(5)];
    const QType x_type = per_tensor(xt);
    const QType w_type = chance(50) ? per_tensor(wt) : per_axis(wt, 1, ocg);
    const Tensor x = codes(xt, {2, groups * icg, size}), w = codes(wt, {groups * icg, ocg, k});
    QType to;
    if (chance(80)) to = result(x_type.format->scale_at() * w_type.format->scale_at(0), 1e6);
    Tensor bias(DType::i32, {groups * ocg});
    for (int64_t c = 0; c < bias.size(); ++c) bias.set_int(c, below(20000) - 10000);
    auto y = run("qconv_transpose", x_type, x, w, w_type, &bias,
                 {{"strides", Ints{stride}},
                  {"dilations", Ints{dilation}},
                  {"pads", Ints{pad, pad}},
                  {"output_padding", Ints{0}},
                  {"groups", groups},
                  {"to", to}});
    ASSERT_TRUE(y.ok()) << render(y.diag());
    // Every input scatters to the outputs its taps reach.
    const int64_t out = y->shape()[2], oc = groups * ocg;
    std::vector<Wide> sums(static_cast<size_t>(2 * oc * out));
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = bias.as_int(static_cast<int64_t>(i) / out % oc);
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t n = i / (groups * icg * size), ic = i / size % (groups * icg), at = i % size;
      for (int64_t e = 0; e < ocg * k; ++e) {
        const int64_t to_at = at * stride - pad + e % k * dilation;
        if (to_at < 0 || to_at >= out) continue;
        const int64_t c = ic / icg * ocg + e / k;
        sums[static_cast<size_t>((n * oc + c) * out + to_at)] +=
            Wide{x.as_int(i) - x_type.format->zero_at()} *
            (w.as_int(ic * ocg * k + e) - w_type.format->zero_at(e / k));
      }
    }
    for (int64_t i = 0; i < y->size(); ++i) {
      ASSERT_EQ(y->as_double(i),
                expected(sums[static_cast<size_t>(i)], *x_type.format, *w_type.format, to,
                         i / out % ocg, "exact", INT64_MIN, INT64_MAX))
          << "round " << round << ", element " << i;
    }
  }
}

// arithmetic.md: Q30
TEST_F(Products, OfTwoActivations) {
  for (int round = 0; round < 300; ++round) {
    const int64_t m = 1 + below(9), k = 1 + below(70), n = 1 + below(40);
    const bool rows = chance(50);
    const DType xt = kOperands[below(4)], wt = kOperands[below(4)];
    const QType a_type = per_tensor(xt), b_type = per_tensor(wt);
    Ints a_shape{m, k}, b_shape = rows ? Ints{n, k} : Ints{k, n}, batch;
    for (int64_t d = below(4); d > 0; --d) {
      const int64_t size = 1 + below(3);
      a_shape.insert(a_shape.begin(), chance(70) ? size : 1);
      b_shape.insert(b_shape.begin(), chance(70) ? size : 1);
    }
    const Tensor a = codes(xt, a_shape), b = codes(wt, b_shape);
    QType to;
    if (chance(80)) {
      to = result(a_type.format->scale_at() * b_type.format->scale_at(),
                  static_cast<double>(k) * static_cast<double>(code_range(xt).hi) *
                      static_cast<double>(code_range(wt).hi));
    }
    auto y = run("qmatmul", {Given{a, a_type.format}, Given{b, b_type.format, chance(20)}},
                 {{"to", to}, {"transpose_b", rows}});
    ASSERT_TRUE(y.ok()) << render(y.diag());
    for (int64_t i = 0; i < y->size(); ++i) {
      // The matrices of the operands that meet in this element.
      int64_t from_a = 0, from_b = 0, step_a = 1, step_b = 1, rest = i / (m * n);
      for (size_t d = a_shape.size() - 2; d-- > 0;) {
        const int64_t size = y->shape()[d], at = rest % size;
        rest /= size;
        from_a += at % a_shape[d] * step_a;
        from_b += at % b_shape[d] * step_b;
        step_a *= a_shape[d];
        step_b *= b_shape[d];
      }
      const int64_t row = i / n % m, column = i % n;
      Wide sum = 0;
      for (int64_t e = 0; e < k; ++e) {
        sum += Wide{a.as_int((from_a * m + row) * k + e) - a_type.format->zero_at()} *
               (b.as_int(from_b * k * n + (rows ? column * k + e : e * n + column)) -
                b_type.format->zero_at());
      }
      ASSERT_EQ(y->as_double(i),
                expected(sum, *a_type.format, *b_type.format, to, 0, "exact", INT64_MIN, INT64_MAX))
          << "round " << round << ", element " << i;
    }
  }
}

/// Scales and zero points of x that are known at run time: f32(sum) * (sx * sw), then + bias.
// arithmetic.md: Q35, E2
TEST_F(Products, WithScalesKnownAtRunTime) {
  for (int round = 0; round < 300; ++round) {
    const bool conv = chance(40), rows = !conv && chance(50), zeros = chance(80);
    const int64_t m = 1 + below(9), k = 1 + below(40), n = 1 + below(40);
    const DType xt = chance(50) ? DType::u8 : DType::i8, wt = kWeights[below(5)];
    const QType w_type = chance(50) ? per_tensor(wt) : per_axis(wt, 0, n);
    auto x_format = std::make_shared<Format>();
    x_format->qmin = code_range(xt).lo;
    x_format->qmax = code_range(xt).hi;
    x_format->scale = Component::at_run_time();
    x_format->zero_point = Component::at_run_time();
    if (rows) {
      x_format->granularity = Granularity::group;
      x_format->axis = 1;
      x_format->group = k;
    }
    const Tensor x = codes(xt, conv ? Ints{1, k, m} : Ints{m, k});
    const Tensor w = codes(wt, conv ? Ints{n, k, 1} : Ints{n, k});
    Tensor scales(DType::f32, rows ? Ints{m, 1} : Ints{}), points(DType::i32, scales.shape());
    for (int64_t i = 0; i < scales.size(); ++i) {
      scales.set_double(i, scale());
      points.set_int(i, code(xt));
    }
    Tensor bias(DType::f32, {n});
    for (int64_t c = 0; c < n; ++c) bias.set_double(c, static_cast<double>(below(999)) / 7.0);
    const bool biased = chance(50);
    std::vector<std::optional<Given>> operands{Given{x, x_format}, Given{w, w_type.format, true},
                                               std::nullopt, Given{scales, nullptr}};
    if (biased) operands[2] = Given{bias, nullptr, true};
    if (zeros) operands.push_back(Given{points, nullptr});
    AttrMap attrs{{"to", QType{}}};
    if (conv) {
      attrs["strides"] = attrs["dilations"] = Ints{1};
      attrs["pads"] = Ints{0, 0};
    }
    auto y = run(conv ? "qconv" : "qlinear", operands, attrs, conv);
    ASSERT_TRUE(y.ok()) << render(y.diag());
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t c = 0; c < n; ++c) {
        int64_t sum = 0;
        const int64_t zero = zeros ? points.as_int(rows ? row : 0) : 0;
        for (int64_t e = 0; e < k; ++e) {
          sum += (x.as_int(conv ? e * m + row : row * k + e) - zero) *
                 (w.as_int(c * k + e) - w_type.format->zero_at(c));
        }
        volatile float s = scales.data<float>()[rows ? row : 0] * w_type.format->scale_at(c);
        volatile float v = static_cast<float>(sum) * s;
        if (biased) v = v + bias.data<float>()[c];
        ASSERT_EQ(y->data<float>()[conv ? c * m + row : row * n + c], v) << "round " << round;
      }
    }
  }
}

/// A float bias beside codes as the result, as FBGEMM has it.
// arithmetic.md: Q33, E1
TEST_F(Products, WithFloatBias) {
  for (int round = 0; round < 200; ++round) {
    const int64_t m = 1 + below(6), k = 1 + below(20), n = 1 + below(40);
    const QType x_type = per_tensor(DType::u8);
    const bool one = chance(50);
    const QType w_type = one ? per_tensor(DType::i8) : per_axis(DType::i8, 0, n);
    const Tensor x = codes(DType::u8, {m, k}), w = codes(DType::i8, {n, k});
    const float s0 = x_type.format->scale_at() * w_type.format->scale_at(0);
    const QType to = result(s0, 2e4 * std::sqrt(static_cast<double>(k)));
    Tensor bias(DType::f32, {n});
    for (int64_t c = 0; c < n; ++c) {
      bias.set_double(c, static_cast<double>(s0) * (static_cast<double>(below(99999)) - 5e4) / 7.0);
    }
    auto y = run("qlinear", x_type, x, w, w_type, &bias, {{"to", to}, {"arithmetic", "torch"}});
    ASSERT_TRUE(y.ok()) << render(y.diag());
    for (int64_t i = 0; i < m * n; ++i) {
      int64_t sum = 0;
      for (int64_t e = 0; e < k; ++e) {
        sum += (x.as_int(i / n * k + e) - x_type.format->zero_at()) *
               (w.as_int(i % n * k + e) - w_type.format->zero_at(i % n));
      }
      volatile float s = x_type.format->scale_at() * w_type.format->scale_at(i % n);
      volatile float inverse = 1.0f / s, steps = bias.data<float>()[i % n] / s;
      volatile float a = one ? std::fma(bias.data<float>()[i % n], inverse, static_cast<float>(sum))
                             : static_cast<float>(sum) + steps;
      volatile float m_c = s / to.format->scale_at();
      volatile float v = a * m_c;
      const double code = std::nearbyint(static_cast<double>(v)) + to.format->zero_at();
      ASSERT_EQ(y->as_double(i), std::clamp(code, static_cast<double>(to.format->qmin),
                                            static_cast<double>(to.format->qmax)));
    }
  }
}

/// Codes of weights beside floats: what linear gives on the decoded weights, bit for bit.
// arithmetic.md: Q36
TEST_F(Products, OfFloatsWithCodesOfWeights) {
  for (int round = 0; round < 300; ++round) {
    const int64_t m = 1 + below(9), k = 1 + below(70), n = 1 + below(40);
    const DType wt =
        std::array{DType::i8, DType::u8, DType::i4, DType::u4}[static_cast<size_t>(below(4))];
    QType w_type = chance(30) ? per_tensor(wt) : per_axis(wt, 0, n);
    if (chance(50)) {
      auto f = std::make_shared<Format>(*w_type.format);
      f->granularity = Granularity::group;
      f->axis = 1;
      f->group = 1 + below(40);
      const int64_t count = n * ((k + f->group - 1) / f->group);
      Tensor s(DType::f32, {count}), z(DType::i32, {count});
      for (int64_t i = 0; i < count; ++i) {
        s.set_double(i, scale());
        z.set_int(i, code(wt));
      }
      f->scale = Component::of(std::move(s));
      f->zero_point = chance(50) ? Component::of(std::move(z)) : Component{};
      w_type.format = std::move(f);
    }
    const Tensor x = random_tensor(DType::f32, {m, k}, static_cast<uint32_t>(round));
    const Tensor w = codes(wt, {n, k}), bias = random_tensor(DType::f32, {n}, 7);
    std::vector<std::optional<Given>> operands{Given{x, nullptr}, Given{w, w_type.format, true}};
    if (chance(50)) operands.push_back(Given{bias, nullptr, true});
    auto y = run("qlinear", operands, {{"to", QType{}}});
    ASSERT_TRUE(y.ok()) << render(y.diag());
    Graph graph;
    std::vector<Value*> in{
        graph.add_input("x", Type(DType::f32, to_dims(x.shape()))),
        *graph.emit("dequantize", {graph.constant(graph.pool().add(w), w_type.format)}, {}, {})};
    if (operands.size() > 2) in.push_back(graph.constant(bias));
    graph.add_output("y", *graph.emit("linear", in, {}, {}));
    EXPECT_TRUE(interpret(graph, {x})->outputs[0].identical(*y)) << str(w_type);
  }
}

/// Widest sums: all codes at the end that is farthest from the zero point.
// arithmetic.md: Q3
TEST_F(Products, SumsBeyond32BitsAreFormedIn64) {
  const int64_t k = 70000;
  for (DType wt : {DType::i8, DType::u8}) {
    for (int64_t n : {1, 17}) {
      Tensor x(DType::u8, {2, k}), w(wt, {n, k});
      for (int64_t i = 0; i < x.size(); ++i) x.set_int(i, 255);
      for (int64_t i = 0; i < w.size(); ++i) w.set_int(i, code_range(wt).hi);
      const QType x_type = tensor_format(DType::u8, 1.0f, 0);
      const QType w_type = tensor_format(wt, 1.0f, static_cast<int32_t>(code_range(wt).lo));
      Graph graph;
      Value* y = *graph.emit("qlinear",
                             {graph.add_input("x", Type(x_type, to_dims(x.shape()))),
                              graph.constant(graph.pool().add(w), w_type.format)},
                             {{"to", QType{}}}, {});
      const auto proof = dynamic_cast<QuantNode&>(*y->def()).accumulator();
      EXPECT_EQ(proof.type, DType::i64);
      EXPECT_EQ(proof.bound, 255 * 255 * k);
      EXPECT_EQ(proof.weight_sum, 255 * k);
      EXPECT_EQ(proof.terms, k);
      auto result = run("qlinear", x_type, x, w, w_type, nullptr, {{"to", QType{}}});
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(result->as_double(0), static_cast<double>(static_cast<float>(255 * 255 * k)));
    }
  }
}

}  // namespace
}  // namespace qc
